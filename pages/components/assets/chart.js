// A figure that is redrawn in place: planes and bars by hand, the rest by Plotly, which is loaded when it is needed.
const CONFIG = {displayModeBar: false, doubleClick: false, showTips: false};
const BY_HAND = {plane: drawPlane, bars: drawBars};
const read = data => typeof data === 'string' ? data : new TextDecoder().decode(data);

const TRIES = 20, PAUSE_MS = 1000;  // a server that is just being restarted is asked again

function plotly(address) {
  return window.armlPlotly ??= new Promise((done, failed) => load(address, TRIES, done, failed));
}

function load(address, tries, done, failed) {
  const script = Object.assign(document.createElement('script'), {src: address});
  script.onload = () => done(window.Plotly);
  script.onerror = () => {
    script.remove();
    if (tries > 1) { setTimeout(load, PAUSE_MS, address, tries - 1, done, failed); return; }
    window.armlPlotly = undefined;
    failed(Error('The charts could not be loaded.'));
  };
  document.head.append(script);
}

function fit(box) {
  const width = Math.floor(box.clientWidth);
  if (width && box.figure && width !== box.figure.layout.width) {
    box.figure.layout.width = width;
    draw(box);
  }
}

async function draw(box) {
  if (box.byHand) box.byHand(box);
  else await drawWithPlotly(box);
  box.dataset.drawn = 'yes';
  box.dispatchEvent(new CustomEvent('arml-drawn', {bubbles: true}));
}

async function drawWithPlotly(box) {
  const {data, layout} = box.figure;
  const drawn = JSON.stringify([data, layout]);
  if (drawn !== box.drawn || !box.graph._fullLayout) {
    box.drawn = drawn;  // at once: while Plotly draws, the next figure may come
    await box.Plotly.react(box.graph, data, {...layout}, CONFIG);
  }
  placeMark(box);
}

function placeMark(box) {  // moving a line over the picture needs no curve drawn again
  const {xaxis, yaxis} = box.graph._fullLayout;
  box.mark.style.display = box.at ? '' : 'none';
  if (!box.at) return;
  const x = xaxis._offset + xaxis.l2p(box.at.x), top = yaxis._offset;
  const line = element('line', {x1: x, x2: x, y1: top, y2: top + yaxis._length, stroke: box.at.color,
                                'stroke-width': 1.5, 'stroke-dasharray': '2,3'});
  const text = element('text', {x, y: top - 5, fill: box.at.color, 'text-anchor': 'middle', 'font-size': 13,
                                'font-family': 'sans-serif'});
  text.textContent = box.at.text;
  box.mark.replaceChildren(line, text);
}

function boxIn(parent) {
  const found = parent.querySelector('.arml-chart');
  if (found) return found;
  const box = document.createElement('div');
  box.className = 'arml-chart';
  box.layers = {};
  box.graph = document.createElement('div');
  box.mark = element('svg', {class: 'arml-mark'});
  box.tip = Object.assign(document.createElement('div'), {className: 'arml-tip'});
  box.tip.style.display = 'none';
  box.append(box.graph, box.mark, box.tip);
  box.nearest = (across, along) => nearestPoint(box, across, along);
  watchPointer(box);
  parent.append(box);
  return box;
}

// Streamlit also cleans up when it only draws the same place anew: what is still on the page then stays as it is.
function letGo(box) {
  if (box.isConnected) return;
  box.watch?.disconnect();
  box.Plotly?.purge(box.graph);
  box.watch = box.text = box.drawn = undefined;
}

// Numbers come packed; those of a region stay so, to be compared at a glance.
function unpackLines(figure) {
  for (const trace of figure.data.filter(trace => trace.type === 'scatter'))
    for (const axis of ['x', 'y']) if (trace[axis].bdata) trace[axis] = Array.from(unpacked(trace[axis]));
}

export default async function ({ data, parentElement }) {
  const text = read(data);
  const box = boxIn(parentElement);
  if (box.text === text) return;
  box.text = text;
  const {alt, figure, address, mark} = JSON.parse(text);
  box.byHand = figure.layout.showlegend ? undefined : BY_HAND[figure.layout.meta];  // Plotly draws legends of planes
  box.setAttribute('role', 'figure');
  box.setAttribute('aria-label', alt);
  box.style.minHeight = `${figure.layout.height}px`;
  if (box.byHand) unpackLines(figure);
  else box.Plotly = await plotly(address);
  if (box.text !== text || !box.isConnected) return;  // a newer figure has come meanwhile
  figure.layout.width = Math.floor(box.clientWidth) || undefined;
  box.figure = figure;
  box.at = mark;
  await draw(box);
  if (!box.watch) {
    box.watch = new ResizeObserver(() => fit(box));
    box.watch.observe(box);
  }
  return () => setTimeout(letGo, 0, box);
}

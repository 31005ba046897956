// A Plotly figure that is redrawn in place. Regions, traces marked as overlay, and the arrows are drawn by hand into
// Plotly's own picture: they follow a click or a slider, and nothing else has to be drawn again.
const SVG = 'http://www.w3.org/2000/svg';
const CONFIG = {displayModeBar: false, doubleClick: false, showTips: false};
const DASHES = {dash: '9,9', dot: '3,3'};  // in units of 1 px, as Plotly draws them
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

function element(kind, values) {
  const made = document.createElementNS(SVG, kind);
  Object.entries(values).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}

function fit(box) {
  const width = Math.floor(box.clientWidth);
  if (width && box.figure && width !== box.figure.layout.width) {
    box.figure.layout.width = width;
    draw(box);
  }
}

async function draw(box) {
  const {data, layout} = box.figure;
  const drawn = JSON.stringify([data, layout]);
  if (drawn !== box.drawn) {
    box.drawn = drawn;  // at once: while Plotly draws, the next figure may come
    await box.Plotly.react(box.graph, data, {...layout}, CONFIG);
  }
  placeOverlay(box);
  placeMark(box);
  box.dispatchEvent(new CustomEvent('arml-drawn', {bubbles: true}));
}

// The overlay's traces that come before the training points (they carry `customdata`) lie under them, and the regions
// under everything. Plotly draws them all where it has to name them in a legend.
function split(figure) {
  const isRegion = trace => trace.type === 'contour' && trace.contours?.type === 'constraint';
  const isOver = trace => trace.meta === 'overlay';
  const points = figure.data.findIndex(trace => trace.customdata);
  const over = figure.data.filter(isOver);
  if (!over.length || figure.layout.showlegend) return null;
  const regions = figure.data.filter(isRegion);
  const below = figure.data.filter((trace, i) => isOver(trace) && i < points);
  const arrows = figure.layout.annotations ?? [];
  figure.data = figure.data.filter(trace => !isOver(trace) && !isRegion(trace));
  figure.layout.annotations = [];
  return {traces: over, regions, below, above: over.filter(trace => !below.includes(trace)), arrows};
}

function placeOverlay(box) {
  box.graph.querySelectorAll('.arml-overlay').forEach(group => group.remove());
  box.graph.overlay = box.over?.traces ?? [];
  box.graph.regions = box.over?.regions ?? [];
  const points = box.over && box.graph.querySelector('.cartesianlayer .scatterlayer');
  if (!points) return;
  const {xaxis, yaxis} = box.graph._fullLayout;
  const at = (x, y) => [xaxis.l2p(x), yaxis.l2p(y)];
  const below = element('g', {class: 'arml-overlay'}), above = element('g', {class: 'arml-overlay'});
  box.over.regions.forEach((trace, i) => addRegion(below, trace, i, at, box));
  box.over.below.forEach(trace => addTrace(below, trace, at));
  box.over.arrows.forEach(arrow => addArrow(above, arrow, at));
  box.over.above.forEach(trace => addTrace(above, trace, at));
  points.before(below);
  points.after(above);
}

function addRegion(group, trace, i, at, box) {
  const seen = [...at(0, 0), ...at(1, 1), trace.x.bdata, trace.y.bdata, trace.z.bdata];
  if (!box.outlines[i]?.seen.every((value, part) => value === seen[part]))  // most clicks change no region
    box.outlines[i] = {seen, path: regionPath(trace, at)};
  group.append(element('path', {
    d: box.outlines[i].path, 'data-name': trace.name, fill: trace.fillcolor, stroke: trace.line.color,
    'stroke-width': trace.line.width,
  }));
}

function addTrace(group, trace, at) {
  if (trace.mode === 'lines') addLine(group, trace, at);
  else trace.x.forEach((x, i) => addMarker(group, trace, i, at(x, trace.y[i])));
}

function addLine(group, {name, x, y, line, fill, fillcolor}, at) {
  let path = '', pen = 'M';
  x.forEach((value, i) => {
    if (value === null || y[i] === null) { pen = 'M'; return; }
    path += pen + at(value, y[i]).map(v => v.toFixed(2)).join(',');
    pen = 'L';
  });
  group.append(element('path', {
    d: path, 'data-name': name, stroke: line.color, 'stroke-width': line.width, fill: fill ? fillcolor : 'none',
    ...(DASHES[line.dash] && {'stroke-dasharray': DASHES[line.dash]}),
  }));
}

const one = (value, i) => Array.isArray(value) ? value[i] : value;

function addMarker(group, {name, marker}, i, [x, y]) {
  group.append(element('path', {
    d: outline(one(marker.symbol, i), marker.size / 2), transform: `translate(${x},${y})`, 'data-name': name,
    fill: one(marker.color, i), stroke: marker.line.color, 'stroke-width': marker.line.width,
  }));
}

function outline(symbol, r) {
  const polygon = (...corners) => 'M' + corners.map(corner => corner.join(',')).join('L') + 'Z';
  const a = 0.4 * r, b = 1.2 * r;  // half the width of a cross's arm, and its length
  const cross = [[b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a], [-a, -b], [a, -b], [a, -a],
                 [b, -a]];
  switch (symbol) {
    case 'circle': return `M${r},0A${r},${r} 0 1,1 0,${-r}A${r},${r} 0 0,1 ${r},0Z`;
    case 'square': return polygon([r, r], [-r, r], [-r, -r], [r, -r]);
    case 'diamond': return polygon([1.3 * r, 0], [0, 1.3 * r], [-1.3 * r, 0], [0, -1.3 * r]);
    case 'triangle-up': return polygon([-2 * r / Math.sqrt(3), r / 2], [2 * r / Math.sqrt(3), r / 2], [0, -r]);
    case 'cross': return polygon(...cross);
    case 'x': return polygon(...cross.map(([x, y]) => [(x - y) * Math.SQRT1_2, (x + y) * Math.SQRT1_2]));
    default: throw Error(`no outline for the symbol ${symbol}`);
  }
}

function addArrow(group, {x, y, ax, ay, arrowcolor, arrowwidth, standoff}, at) {
  const [fromX, fromY] = at(ax, ay), [toX, toY] = at(x, y);
  const length = Math.hypot(toX - fromX, toY - fromY) - standoff, head = 4.5 * arrowwidth, side = 0.36 * head;
  if (length <= 0) return;
  const turned = `translate(${fromX},${fromY})rotate(${Math.atan2(toY - fromY, toX - fromX) * 180 / Math.PI})`;
  const arrow = element('g', {transform: turned, 'data-name': 'arrow'});
  if (length > head)
    arrow.append(element('path', {d: `M0,0H${length - head}`, stroke: arrowcolor, 'stroke-width': arrowwidth}));
  arrow.append(element('path', {
    d: `M${length},0L${length - head},${-side}L${length - head},${side}Z`, fill: arrowcolor,
  }));
  group.append(arrow);
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
  box.graph = document.createElement('div');
  box.outlines = [];
  box.mark = element('svg', {class: 'arml-mark'});
  box.append(box.graph, box.mark);
  parent.append(box);
  return box;
}

export default async function ({ data, parentElement }) {
  const text = read(data);
  const box = boxIn(parentElement);
  if (box.text === text) return;
  box.text = text;
  const {alt, figure, address, mark} = JSON.parse(text);
  box.setAttribute('role', 'figure');
  box.setAttribute('aria-label', alt);
  box.style.minHeight = `${figure.layout.height}px`;
  box.Plotly = await plotly(address);
  if (box.text !== text || !box.isConnected) return;  // a newer figure has come meanwhile
  figure.layout.width = Math.floor(box.clientWidth) || undefined;
  box.over = split(figure);
  box.figure = figure;
  box.at = mark;
  await draw(box);
  if (!box.watch) {
    box.watch = new ResizeObserver(() => fit(box));
    box.watch.observe(box);
  }
  return () => { box.watch.disconnect(); box.Plotly.purge(box.graph); };
}

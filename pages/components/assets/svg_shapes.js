// Lines, markers and arrows as SVG. `at` takes a place of the plane to the screen.
const SVG = 'http://www.w3.org/2000/svg';
const DASHES = {dash: '9,9', dot: '3,3'};  // in units of 1 px, as Plotly draws them

function element(kind, values) {
  const made = document.createElementNS(SVG, kind);
  Object.entries(values).forEach(([name, value]) => made.setAttribute(name, value));
  return made;
}

function addTrace(group, trace, at) {
  if (trace.mode === 'lines') addLine(group, trace, at);
  else trace.x.forEach((x, i) => addMarker(group, trace, i, at(x, trace.y[i])));
}

function addLine(group, {name, x, y, line, fill, fillcolor}, at) {
  let path = '', pen = 'M';
  x.forEach((value, i) => {
    if (!Number.isFinite(value)) { pen = 'M'; return; }  // a gap
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

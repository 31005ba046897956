// Stacked bars that each add up to 1, without Plotly: they are drawn again with every step of a slider.
const BAR = 0.7, NAME_GAP = 14, WIDEST_NAMES = 0.45, KEY = 12;
const ruler = document.createElement('canvas').getContext('2d');
let drawings = 0;

// Labels come written for Plotly, with entities for its brackets.
const SIGNS = {'&lt;': '<', '&gt;': '>', '&#123;': '{', '&amp;': '&'};
const asText = label => label.replace(/&lt;|&gt;|&#123;|&amp;/g, entity => SIGNS[entity]);

function widthOf(text, size, family) {
  ruler.font = `${size}px ${family}`;
  return ruler.measureText(text).width;
}

function cutTo(text, room, size, family) {
  // what follows the last dot tells one run from another, and stays
  const dot = text.lastIndexOf(' · '), tail = dot < 0 ? '' : text.slice(dot);
  let head = dot < 0 ? text : text.slice(0, dot), kept = text;
  while (head.length > 1 && widthOf(kept, size, family) > room) {
    head = head.slice(0, -1);
    kept = `${head}…${tail}`;
  }
  return kept;
}

// The pattern over a colour, as an SVG fill; null where there is none.
function patternFill(id, {shape, fgcolor, size}) {
  if (!shape) return null;
  const made = element('pattern', {id, width: size, height: size, patternUnits: 'userSpaceOnUse'});
  const rising = `M0,${size}L${size},0`, falling = `M0,0L${size},${size}`;
  made.append(element('path', {d: shape === 'x' ? rising + falling : rising, stroke: fgcolor, 'stroke-width': 1}));
  return made;
}

function addPiece(svg, {x, y, width, height}, {color, line}, fill, words) {
  const piece = element('g', {});
  const place = {x, y, width: Math.max(0, width), height};
  piece.append(element('rect', {...place, fill: color, stroke: line.color, 'stroke-width': line.width}));
  if (fill) piece.append(element('rect', {...place, fill}));
  const title = element('title', {});
  title.textContent = words;
  piece.append(title);
  svg.append(piece);
}

function drawBars(box) {
  const {data, layout} = box.figure, {width, height, margin, xaxis, yaxis, legend} = layout, {family} = layout.font;
  const svg = element('svg', {class: 'arml-plane', width, height});
  svg.style.fontFamily = family;
  const names = data[0].y.map(asText), size = yaxis.tickfont.size;
  const widest = Math.max(...names.map(name => widthOf(name, size, family)));
  const room = Math.min(widest, WIDEST_NAMES * width), left = margin.l + room + NAME_GAP;
  const {t: top} = margin, bottom = height - margin.b, row = (bottom - top) / names.length;
  const wide = Math.max(1, width - left - margin.r);
  svg.append(element('rect', {x: left, y: top, width: wide, height: bottom - top, fill: layout.plot_bgcolor}));
  for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    const x = left + share * wide;
    svg.append(element('line', {x1: x, x2: x, y1: top, y2: bottom, stroke: xaxis.gridcolor}),
               label(`${Math.round(100 * share)}%`, {x, y: bottom + 17, 'text-anchor': 'middle'}, xaxis.tickfont));
  }
  const prefix = `arml-bars-${drawings++}`, defs = element('defs', {}), ends = names.map(() => 0);
  svg.append(defs);
  const keys = data.map(trace => KEY + 5 + widthOf(trace.name, legend.font.size, family));
  const all = keys.reduce((sum, wide) => sum + wide + KEY, -KEY);
  let key = Math.max(0, Math.min(left, width - all));
  data.forEach((trace, part) => {
    const pattern = patternFill(`${prefix}-${part}`, trace.marker.pattern), fill = pattern && `url(#${pattern.id})`;
    if (pattern) defs.append(pattern);
    addPiece(svg, {x: key, y: top - 20, width: KEY, height: KEY}, trace.marker, fill, trace.name);
    svg.append(label(trace.name, {x: key + KEY + 5, y: top - 10}, legend.font));
    key += keys[part] + KEY;
    trace.x.forEach((share, i) => {
      const y = top + (i + (1 - BAR) / 2) * row;
      const place = {x: left + ends[i] * wide, y, width: share * wide, height: BAR * row};
      addPiece(svg, place, trace.marker, fill, `${names[i]}\n${trace.name}: ${share.toFixed(3)}`);
      const middle = {x: place.x + place.width / 2, y: place.y + place.height / 2 + 5, 'text-anchor': 'middle'};
      if (widthOf(trace.text[i], 13, family) < place.width) svg.append(label(trace.text[i], middle, trace.textfont));
      ends[i] += share;
    });
  });
  names.forEach((name, i) => svg.append(
    label(cutTo(name, room, size, family), {x: left - 8, y: top + (i + 0.5) * row + 5, 'text-anchor': 'end'},
          yaxis.tickfont)));
  box.graph.replaceChildren(svg);
}

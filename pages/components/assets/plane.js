// The picture of a plane, without Plotly: it is the first thing a visitor waits for, and every click and every step of
// a slider changes it. Layers that stay the same are left as they are.
const MOST_TICKS = 6, TICK = 3, NEAR = 11;

// What is seen: at least the ranges of the layout, at the same scale on both axes.
function viewOf({width, height, margin, xaxis, yaxis}) {
  const wide = Math.max(1, width - margin.l - margin.r), high = Math.max(1, height - margin.t - margin.b);
  const [x0, x1] = xaxis.range, [y0, y1] = yaxis.range;
  const scale = Math.min(wide / (x1 - x0), high / (y1 - y0));
  const left = (x0 + x1) / 2 - wide / 2 / scale, bottom = (y0 + y1) / 2 - high / 2 / scale;
  return {
    left: margin.l, top: margin.t, wide, high, x: [left, left + wide / scale], y: [bottom, bottom + high / scale],
    at: (x, y) => [(x - left) * scale, high - (y - bottom) * scale],
    from: (across, along) => [left + across / scale, bottom + (high - along) / scale],
  };
}

// Round numbers within a range, at most MOST_TICKS steps, and as they are written.
function ticks([low, high]) {
  const rough = (high - low) / MOST_TICKS, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(factor => factor * power >= rough * (1 - 1e-9)) * power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    found.push([i * step, (i * step).toFixed(digits).replace(/^-(?=.*[1-9])/, '\u2212').replace(/^-/, '')]);
  return found;
}

function label(text, values, {color, size}) {
  const made = element('text', {fill: color, 'font-size': size, ...values});
  made.textContent = text;
  return made;
}

function axes({xaxis, yaxis}, {left, top, wide, high, x, y, at}) {
  const group = element('g', {}), bottom = top + high;
  const line = values => group.append(element('line', {stroke: xaxis.linecolor, ...values}));
  group.append(element('rect', {x: left, y: top, width: wide, height: high, fill: 'none', stroke: xaxis.linecolor}));
  for (const [value, text] of ticks(x)) {
    const across = left + at(value, 0)[0];
    line({x1: across, x2: across, y1: bottom, y2: bottom + TICK});
    group.append(label(text, {x: across, y: bottom + TICK + 13, 'text-anchor': 'middle'}, xaxis.tickfont));
  }
  for (const [value, text] of ticks(y)) {
    const along = top + at(0, value)[1];
    line({x1: left - TICK, x2: left, y1: along, y2: along});
    group.append(label(text, {x: left - TICK - 3, y: along + 4, 'text-anchor': 'end'}, yaxis.tickfont));
  }
  const middle = top + high / 2;
  group.append(
    label(xaxis.title.text, {x: left + wide / 2, y: bottom + 34, 'text-anchor': 'middle'}, xaxis.title.font),
    label(yaxis.title.text, {x: 14, y: middle, 'text-anchor': 'middle', transform: `rotate(-90,14,${middle})`},
          yaxis.title.font));
  return group;
}

function ground({plot_bgcolor, shapes}, {wide, high, at}) {
  const group = element('g', {});
  group.append(element('rect', {width: wide, height: high, fill: plot_bgcolor}));
  for (const {x0, x1, y0, y1, fillcolor} of shapes) {
    const [left, bottom] = at(x0, y0), [right, top] = at(x1, y1);
    group.append(element('rect', {x: left, y: top, width: right - left, height: bottom - top, fill: fillcolor}));
  }
  return group;
}

// Traces marked as overlay that come before the training points (they carry `customdata`) lie under them.
function layersOf({data, layout}) {
  const points = data.findIndex(trace => trace.customdata), over = trace => trace.meta === 'overlay';
  return {
    regions: data.filter(trace => trace.type === 'contour'),
    below: data.filter((trace, i) => over(trace) && i < points),
    points: data.filter(trace => trace.customdata),
    above: data.filter((trace, i) => over(trace) && i > points),
    arrows: layout.annotations,
  };
}

function group(build) {
  const made = element('g', {});
  build(made);
  return made;
}

function drawPlane(box) {
  const {layout} = box.figure, view = viewOf(layout), {at} = view, layers = layersOf(box.figure);
  const seen = JSON.stringify([layout.width, layout.height, view.x, view.y]);
  const kept = (name, parts, build) => {  // one layer, built again only if what it shows has changed
    const key = [seen, ...parts], old = box.layers[name];
    if (!old || old.key.length !== key.length || old.key.some((part, i) => part !== key[i]))
      box.layers[name] = {key, made: build()};
    return box.layers[name].made;
  };
  const {xaxis, yaxis, shapes, plot_bgcolor} = layout;
  const frame = element('svg', {x: view.left, y: view.top, width: view.wide, height: view.high});  // cuts off
  frame.append(
    kept('ground', [JSON.stringify(shapes), plot_bgcolor], () => ground(layout, view)),
    ...layers.regions.map((trace, i) => kept(
      `region ${i}`, [trace.x.bdata, trace.y.bdata, trace.z.bdata, trace.fillcolor, trace.line.color],
      () => element('path', {
        d: regionPath(trace, at), 'data-name': trace.name, fill: trace.fillcolor, stroke: trace.line.color,
        'stroke-width': trace.line.width,
      }))),
    group(made => layers.below.forEach(trace => addTrace(made, trace, at))),
    kept('points', [JSON.stringify(layers.points)],
         () => group(made => layers.points.forEach(trace => addTrace(made, trace, at)))),
    group(made => {
      layers.arrows.forEach(arrow => addArrow(made, arrow, at));
      layers.above.forEach(trace => addTrace(made, trace, at));
    }));
  const svg = element('svg', {class: 'arml-plane', width: layout.width, height: layout.height});
  svg.append(frame, kept('axes', [JSON.stringify([xaxis, yaxis])], () => axes(layout, view)));
  svg.style.fontFamily = layout.font.family;
  box.graph.replaceChildren(svg);
  box.view = view;
}

// The training point nearest to a place on the screen, if it is close.
function nearestPoint(box, across, along) {
  let found = null, nearest = NEAR;
  for (const trace of layersOf(box.figure).points)
    trace.x.forEach((x, i) => {
      const [left, top] = box.view.at(x, trace.y[i]), away = Math.hypot(left - across, top - along);
      if (away < nearest) { nearest = away; found = {name: trace.name, row: trace.customdata[i], x, y: trace.y[i]}; }
    });
  return found;
}

function showTip(box, event) {
  const frame = box.graph.getBoundingClientRect(), {left, top} = box.view;
  const point = nearestPoint(box, event.clientX - frame.left - left, event.clientY - frame.top - top);
  box.tip.style.display = point ? '' : 'none';
  if (!point) return;
  const written = value => String(Number(value.toPrecision(3))).replace('-', '\u2212');
  box.tip.textContent = `${point.name}, row ${point.row}\nx1 = ${written(point.x)}, x2 = ${written(point.y)}`;
  const [across, along] = box.view.at(point.x, point.y), right = across > box.view.wide / 2;
  Object.assign(box.tip.style, {
    top: `${top + along + 10}px`, left: right ? '' : `${left + across + 10}px`,
    right: right ? `${box.figure.layout.width - left - across + 10}px` : '',
    background: box.figure.layout.plot_bgcolor, color: box.figure.layout.font.color,
  });
}

function watchPointer(box) {
  box.graph.addEventListener('pointermove', event => { if (box.view) showTip(box, event); });
  box.graph.addEventListener('pointerleave', () => { box.tip.style.display = 'none'; });
}

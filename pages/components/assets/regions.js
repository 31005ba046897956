// Regions of the plane drawn without Plotly: where the values of a grid are positive, as closed outlines of straight
// pieces. They change with every step of a slider, and Plotly would build the whole picture again.
const NUMBERS = {f4: Float32Array, f8: Float64Array};

function unpacked({dtype, bdata}) {
  const text = atob(bdata), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new NUMBERS[dtype](bytes.buffer);
}

// The grid with a border of -1: no outline is left open.
function padded(z, columns, rows) {
  const width = columns + 2, values = new Float32Array(width * (rows + 2)).fill(-1);
  for (let row = 0; row < rows; row++)
    values.set(z.subarray(row * columns, (row + 1) * columns), (row + 1) * width + 1);
  return values;
}

// Where an outline leaves each edge of the grid: the edge it crosses next, with what is positive on its left. The edge
// from node n to the next in its row has the number 2n, the one to the next in its column 2n + 1.
function crossings(values, width) {
  const next = new Int32Array(2 * values.length).fill(-1);
  for (let node = 0; node + width + 1 < values.length; node++) {
    if (node % width === width - 1) continue;
    const a = values[node], b = values[node + 1], c = values[node + width + 1], d = values[node + width];
    const bottom = 2 * node, left = bottom + 1, right = left + 2, top = 2 * (node + width);
    const joined = a + b + c + d > 0;  // for two opposite corners that are positive
    switch ((a > 0) + 2 * (b > 0) + 4 * (c > 0) + 8 * (d > 0)) {
      case 1: next[bottom] = left; break;
      case 2: next[right] = bottom; break;
      case 3: next[right] = left; break;
      case 4: next[top] = right; break;
      case 5: next[top] = joined ? left : right; next[bottom] = joined ? right : left; break;
      case 6: next[top] = bottom; break;
      case 7: next[top] = left; break;
      case 8: next[left] = top; break;
      case 9: next[bottom] = top; break;
      case 10: next[left] = joined ? bottom : top; next[right] = joined ? top : bottom; break;
      case 11: next[right] = top; break;
      case 12: next[left] = right; break;
      case 13: next[bottom] = right; break;
      case 14: next[left] = bottom; break;
    }
  }
  return next;
}

// The outlines as the `d` of a path; `at` takes a place of the plane to the screen.
function regionPath(trace, at) {
  const x = unpacked(trace.x), y = unpacked(trace.y);
  const width = x.length + 2, values = padded(unpacked(trace.z), x.length, y.length);
  const next = crossings(values, width);
  const place = edge => {
    const node = edge >> 1, upright = edge & 1, other = node + (upright ? width : 1);
    const share = values[node] / (values[node] - values[other]);
    const column = node % width - 1 + (upright ? 0 : share), row = Math.floor(node / width) - 1 + (upright ? share : 0);
    return at(x[0] + column * (x[1] - x[0]), y[0] + row * (y[1] - y[0]));
  };
  let path = '';
  for (let start = 0; start < next.length; start++) {
    let pen = 'M';
    for (let edge = start; next[edge] >= 0;) {
      const [across, along] = place(edge);
      path += `${pen}${across.toFixed(1)},${along.toFixed(1)}`;
      pen = 'L';
      const following = next[edge];
      next[edge] = -1;
      edge = following;
    }
    if (pen === 'L') path += 'Z';
  }
  return path;
}

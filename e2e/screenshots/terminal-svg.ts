import type { Color, Line, Span, Style } from './terminal-screen.ts';

export interface Picture {
  /** Text for screen readers, and the title of the window. */
  readonly title: string;
  /** Width of the terminal in characters. */
  readonly columns: number;
  readonly theme: Theme;
}

export interface Theme {
  readonly background: string;
  readonly bar: string;
  readonly border: string;
  readonly text: string;
  readonly dim: string;
  readonly colors: Readonly<Record<Color, string>>;
}

/** Colours of GitHub's pages, on which the pictures lie; each has a contrast of at least 4.5 to its background. */
export const THEMES: Readonly<Record<'light' | 'dark', Theme>> = {
  light: {
    background: '#ffffff',
    bar: '#f6f8fa',
    border: '#d0d7de',
    text: '#1f2328',
    dim: '#59636e',
    colors: {
      black: '#1f2328',
      red: '#cf222e',
      green: '#1a7f37',
      yellow: '#7d4e00',
      blue: '#0969da',
      magenta: '#8250df',
      cyan: '#1b7c83',
      white: '#59636e',
      'bright-black': '#59636e',
    },
  },
  dark: {
    background: '#0d1117',
    bar: '#151b23',
    border: '#3d444d',
    text: '#f0f6fc',
    dim: '#9198a1',
    colors: {
      black: '#9198a1',
      red: '#ff7b72',
      green: '#3fb950',
      yellow: '#d29922',
      blue: '#58a6ff',
      magenta: '#bc8cff',
      cyan: '#39c5cf',
      white: '#f0f6fc',
      'bright-black': '#9198a1',
    },
  },
};

/** Sizes in pixels. */
const CHARACTER = 7.8;
const LINE = 19;
const PADDING = 16;
const BAR = 34;
const FONT = "13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const pixels = (value: number): string => String(Number(value.toFixed(1)));

/** Draws lines of a terminal as an SVG. Each run of characters gets its width, so that columns align in any font. */
export function terminalSvg(lines: readonly Line[], { title, columns, theme }: Picture): string {
  const width = Math.ceil(columns * CHARACTER + 2 * PADDING);
  const height = BAR + lines.length * LINE + 2 * PADDING;
  const frame = `width="${String(width - 1)}" height="${String(height - 1)}" rx="8"`;
  const dots = [20, 40, 60].map((x) => `<circle cx="${String(x)}" cy="17" r="5.5" fill="${theme.border}"/>`).join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" width="${String(width)}" height="${String(height)}" role="img">
<title>${escape(title)}</title>
<rect x="0.5" y="0.5" ${frame} fill="${theme.background}" stroke="${theme.border}"/>
<path d="M1 ${String(BAR)}V8.5a7.5 7.5 0 0 1 7.5-7.5H${String(width - 8.5)}a7.5 7.5 0 0 1 7.5 7.5V${String(BAR)}z" fill="${theme.bar}"/>
${dots}
<g style="font: ${FONT}" fill="${theme.text}">
<text x="${pixels(width / 2)}" y="21" text-anchor="middle" fill="${theme.dim}">${escape(title)}</text>
${lines.flatMap((line, index) => textOf(line, BAR + PADDING + index * LINE + 13, theme)).join('\n')}
</g>
</svg>
`;
}

/** Draws one line: an element for each part without double blanks, which SVG would join. */
function textOf(line: Line, y: number, theme: Theme): string[] {
  let column = 0;
  return line.flatMap(({ text, style }: Span) => {
    const parts = [...text.matchAll(/\S+(?: \S+)*/gu)].map(({ 0: part, index }) => {
      const x = pixels(PADDING + (column + index) * CHARACTER);
      const place = `x="${x}" y="${String(y)}" textLength="${pixels(part.length * CHARACTER)}"`;
      return `<text ${place}${look(style, theme)}>${escape(part)}</text>`;
    });
    column += text.length;
    return parts;
  });
}

function look({ color, isBold, isDim }: Style, theme: Theme): string {
  const fill = color === undefined ? isDim && theme.dim : theme.colors[color];
  return `${fill ? ` fill="${fill}"` : ''}${isBold ? ' font-weight="600"' : ''}`;
}

/** A message on one line, as stdio wants it: raw line breaks stand between tokens only, where a space says the same. */
export const asLine = (message: string): string => message.replaceAll(/[\r\n]/g, ' ');

/** An SSE event. Its parser joins the lines of the message by LF, whatever ended them. */
export const asEvent = (message: string): string =>
  `event: message\n${message
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;

/** The same event as another server writes it: CR LF, a comment, an id, a retry time, no type, no space. */
export const asSpareEvent = (message: string): string =>
  `: ping\r\nid: 7\r\nretry: 1000\r\n${message
    .split(/\r\n|\r|\n/)
    .map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}\r\n`)
    .join('')}\r\n`;

/** What the receiver of an SSE event gets. */
export const throughEvent = (message: string): string => message.replaceAll(/\r\n|\r/g, '\n');

/** Puts a message on one line for stdio: raw line breaks are between tokens only, where a space is equivalent. */
export const asLine = (message: string): string => message.replaceAll(/[\r\n]/g, ' ');

/** Returns an SSE event. Its parser joins the lines of the message with LF. */
export const asEvent = (message: string): string =>
  `event: message\n${message
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;

/** Returns the event in another valid form: CR LF, a comment, an id, a retry time, no type, no space. */
export const asSpareEvent = (message: string): string =>
  `: ping\r\nid: 7\r\nretry: 1000\r\n${message
    .split(/\r\n|\r|\n/)
    .map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}\r\n`)
    .join('')}\r\n`;

/** Returns a message as the receiver of an SSE event gets it. */
export const throughEvent = (message: string): string => message.replaceAll(/\r\n|\r/g, '\n');

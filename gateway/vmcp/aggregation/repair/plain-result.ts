import { shortText } from '../../../http/short-text.ts';

const HEAD = '"result":{"content":[{"type":"text","text":"';
/** End of such a reply, from the quote behind its text on. The members of a reply may have any order. */
const REST = /"\}\](?:,"isError":false)?\}(?:,"jsonrpc":"2\.0")?(?:,"id":(?:\d{1,20}|"[^"\\]{0,80}"))?\}$/uy;
/** Escaped quotes in a text above which it is not looked at further. */
const MOST_QUOTES = 64;

let last: Buffer | undefined;
let isLastPlain = false;

/**
 * Returns true for a short reply whose result is a single text and nothing else. Most results are, and need no other look. The envelope
 * of the reply must be known to be in order. Several checks of the same reply share the answer.
 */
export function isPlainResult(reply: Buffer): boolean {
  if (reply === last) return isLastPlain;
  const text = shortText(reply);
  if (text === undefined) return false; // a long reply is not kept
  last = reply;
  return (isLastPlain = isPlain(text));
}

function isPlain(all: string): boolean {
  const head = all.indexOf(HEAD);
  if (head === -1) return false;
  let at = head + HEAD.length - 1;
  for (let quotes = 0; quotes < MOST_QUOTES; quotes += 1) {
    at = all.indexOf('"', at + 1);
    if (at === -1) return false;
    if (all[at - 1] === '\\') continue; // a text that ends with a backslash is searched beyond its end, and in vain
    REST.lastIndex = at;
    return REST.test(all);
  }
  return false;
}

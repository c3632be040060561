import { shortText } from '../../../http/short-text.ts';

const HEAD = '"result":{"content":[{"type":"text","text":"';
/** The end of such a reply, from the quote behind its text on. The members of a reply have any order. */
const REST = /"\}\](?:,"isError":false)?\}(?:,"jsonrpc":"2\.0")?(?:,"id":(?:\d{1,20}|"[^"\\]{0,80}"))?\}$/uy;
/** Escaped quotes in a text above which it is not looked at further. */
const MOST_QUOTES = 64;

/**
 * Returns true for a short reply, of which the envelope is known to be in order, whose result is a single text and nothing else. Most
 * results are, so that they need no other look.
 */
export function isPlainResult(reply: Buffer): boolean {
  const all = shortText(reply);
  if (all === undefined) return false;
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

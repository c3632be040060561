import type { ErrorCode } from 'yaml';

/** Message for each kind of syntax error. Messages of the parser are not used: they may quote secrets from the file. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  ALIAS_PROPS: 'an alias (*name) takes no tag or anchor: remove it',
  BAD_ALIAS: 'an anchor or alias has no proper name: write &name and *name',
  BAD_COLLECTION_TYPE: 'the tag does not fit a map or list: remove it',
  BAD_DIRECTIVE: 'unknown YAML directive: remove the line that starts with %',
  BAD_DQ_ESCAPE: 'unknown escape in a double-quoted text: use single quotes, or write \\\\ for a backslash',
  BAD_INDENT: 'wrong indentation or a missing closing bracket: align this line with its neighbours',
  BAD_PROP_ORDER: 'a tag or anchor is in the wrong place: move it directly before the value',
  BAD_SCALAR_START: 'a plain text may not start with this character: put the text in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'more than one ": " here, or a nested block in the wrong place: put text with a colon in quotes, or indent the block',
  BLOCK_IN_FLOW: 'an indented block inside [] or {}: write it inside the brackets',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters: a ":" is probably in the wrong place',
  MISSING_CHAR:
    'a character is missing: look for an unclosed quote or bracket, a missing ":" after a key, or a missing space',
  MULTILINE_IMPLICIT_KEY: 'a key runs over several lines: look for a missing ":" or wrong indentation',
  MULTIPLE_ANCHORS: 'a value has two anchors: remove one',
  MULTIPLE_TAGS: 'a value has two tags: remove one',
  NON_STRING_KEY: 'a key is not a text: write keys as plain words',
  RESOURCE_EXHAUSTION: 'nested too deeply: flatten the document',
  TAB_AS_INDENT: 'a tab is used for indentation: use spaces',
  TAG_RESOLVE_FAILED: 'unknown tag (!name): remove it',
  UNEXPECTED_TOKEN: 'unexpected text: look for wrong indentation, or a list and a map mixed at one level',
};

/** Returns a message about a syntax error that quotes nothing from the file. */
export const syntaxMessage = (code: ErrorCode): string =>
  MESSAGES[code] ?? 'this is not valid YAML: check quotes, brackets and indentation';

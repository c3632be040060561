/** A form that can be sent without scripts. */
export interface Form {
  /** The `action` attribute; absent for the URL of the page. */
  readonly action: string | undefined;
  readonly hidden: Readonly<Record<string, string>>;
  /** Names of the text fields. */
  readonly texts: readonly string[];
  readonly buttons: readonly { readonly name: string | undefined; readonly value: string }[];
}

const FORM = /<form\b([^>]*)>(.*?)<\/form>/gsu;
const CONTROL = /<(input|button)\b([^>]*)>/gu;
const ATTRIBUTE = /([\w-]+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/gu;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" };

/** Lists the forms with `method="post"`. */
export function formsOf(html: string): Form[] {
  return [...html.matchAll(FORM)]
    .map(([, head = '', body = '']) => ({ attributes: attributesOf(head), body }))
    .filter(({ attributes }) => attributes.get('method')?.toLowerCase() === 'post')
    .map(({ attributes, body }) => {
      const controls = [...body.matchAll(CONTROL)].map(([, tag = '', text = '']) => ({
        tag,
        given: attributesOf(text),
      }));
      const inputs = controls.filter(({ tag }) => tag === 'input').map(({ given }) => given);
      const named = inputs.filter((input) => input.has('name'));
      const [hidden, typed] = [named.filter(isHidden), named.filter((input) => !isHidden(input))];
      const buttons = controls.filter(({ tag, given }) => tag === 'button' || given.get('type') === 'submit');
      return {
        action: attributes.get('action'),
        hidden: Object.fromEntries(hidden.map((input) => [input.get('name') ?? '', input.get('value') ?? ''])),
        texts: typed.filter((input) => input.get('type') !== 'submit').map((input) => input.get('name') ?? ''),
        buttons: buttons.map(({ given }) => ({ name: given.get('name'), value: given.get('value') ?? '' })),
      };
    });
}

const isHidden = (input: ReadonlyMap<string, string>): boolean => input.get('type') === 'hidden';

const attributesOf = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(ATTRIBUTE)].map(([, name = '', ...values]) => [name.toLowerCase(), decoded(values.join(''))]),
  );

const decoded = (text: string): string => text.replaceAll(/&([\w#]+);/gu, (all, name: string) => ENTITIES[name] ?? all);

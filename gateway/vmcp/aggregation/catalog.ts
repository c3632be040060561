/** One tool, resource, template or prompt as a backend listed it. */
export interface ListItem {
  /** Name, URI or URI template. */
  readonly key: string;
  /** The item's JSON text, byte for byte as received. */
  readonly json: Buffer;
}

/** Everything one backend offers to one principal. */
export interface Catalog {
  readonly backend: string;
  readonly tools: readonly ListItem[];
  readonly resources: readonly ListItem[];
  readonly templates: readonly ListItem[];
  readonly prompts: readonly ListItem[];
  /** `capabilities` of the backend's initialize reply. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

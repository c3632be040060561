import { existsSync } from 'node:fs';
import { OperationError } from '../../http/endpoint/request-error.ts';
import { DEFAULT_GROUP, requireGroup, mapGroups, type Groups, type GroupsDocument } from '../groups/groups.ts';
import { readUserFile, writeUserFile, type UserFile } from '../state/user-file.ts';
import { UserFileError } from '../state/write-files.ts';
import type { McpClient, ClientEndpoint } from './client.ts';
import { CLIENTS } from './clients.ts';
import { configFileOf, installedMarkOf, type UserFolders } from './config-file.ts';
import { addEntry, removeEntry, type FileEdit } from './register.ts';

/** MCP endpoint that belongs to a group. */
export interface GroupEndpoint extends ClientEndpoint {
  readonly group: string;
}

interface ClientStatus {
  readonly client_type: string;
  readonly installed: boolean;
  readonly registered: boolean;
  readonly supports_skills: boolean;
}

/** A client with the groups in which it is registered. Without `groups` it is registered without a group. */
interface ClientRegistration {
  readonly name: string;
  readonly groups?: readonly string[];
}

interface ClientRegistrationsDeps {
  readonly groups: Groups;
  readonly folders: UserFolders;
  /** Lists the endpoints that run now. */
  readonly endpoints: () => readonly GroupEndpoint[];
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Change of one configuration file, computed but not written. */
interface PlannedEdit {
  readonly file: UserFile;
  readonly text: string;
}

/** Registers MCP clients: remembers them in groups, and keeps the entries of running endpoints in their configuration files. */
export class ClientRegistrations {
  readonly #deps: ClientRegistrationsDeps;

  constructor(deps: ClientRegistrationsDeps) {
    this.#deps = deps;
  }

  /** Status of every supported client, in the order of the table. */
  async statuses(): Promise<ClientStatus[]> {
    const { groups, folders } = this.#deps;
    const document = await groups.read();
    return CLIENTS.map((client) => ({
      client_type: client.type,
      installed: existsSync(installedMarkOf(client, folders)),
      registered: isRegistered(document, client.type),
      supports_skills: client.skills !== undefined,
    }));
  }

  /** Registered clients by name. */
  async list(): Promise<ClientRegistration[]> {
    const document = await this.#deps.groups.read();
    const names = CLIENTS.map(({ type }) => type).filter((type) => isRegistered(document, type));
    return names.toSorted().map((name) => withGroups(name, groupsOf(document, name)));
  }

  /**
   * Registers clients in groups, by default in the group `default`, and writes the entries. Nothing is written on an error.
   * Throws `unsupported_client`, `group_not_found`, `entry_exists` and `client_file_unusable`.
   */
  async register(names: readonly string[], requested: readonly string[] = []): Promise<ClientRegistration[]> {
    const clients = [...new Set(names)].map(supportedClient);
    let effective: readonly string[] = requested;
    await this.#deps.groups.update((document) => {
      if (requested.length === 0) effective = Object.hasOwn(document.groups, DEFAULT_GROUP) ? [DEFAULT_GROUP] : [];
      for (const group of effective) requireGroup(document, group);
      this.#write(
        clients.map((client) => this.#plan(client, effective, (text, endpoint) => addEntry(text, client, endpoint))),
      );
      return added(document, names, effective);
    });
    return names.map((name) => withGroups(name, effective));
  }

  /**
   * Reverts `register`, by default for all groups. An entry stays while the client is registered in another group with the
   * endpoint. Throws `unsupported_client`, `group_not_found` and `client_file_unusable`.
   */
  async unregister(names: readonly string[], requested?: readonly string[]): Promise<void> {
    names.forEach(supportedClient);
    await this.#deps.groups.update((document) => {
      for (const group of requested ?? []) requireGroup(document, group);
      return this.withoutClients(document, names, requested);
    });
  }

  /** Does the same as `unregister` for a client that must be registered. Throws `not_registered` too. */
  async unregisterOne(name: string, requested?: readonly string[]): Promise<void> {
    supportedClient(name);
    await this.#deps.groups.update((document) => {
      for (const group of requested ?? []) requireGroup(document, group);
      const isKnown = requested ? groupsOf(document, name).includes(requested[0] ?? '') : isRegistered(document, name);
      if (!isKnown) throw new OperationError('not_registered');
      return this.withoutClients(document, [name], requested);
    });
  }

  /** Writes the entry of a new endpoint into the files of the clients of its group. Returns a sentence for each unusable file. */
  publish(endpoint: GroupEndpoint): Promise<string[]> {
    return this.#editGroup(endpoint, (text, client) => addEntry(text, client, endpoint));
  }

  /** Reverts `publish`. */
  withdraw(endpoint: GroupEndpoint): Promise<string[]> {
    return this.#editGroup(endpoint, (text, client) => unregisterOwn(text, client, endpoint));
  }

  async #editGroup(endpoint: GroupEndpoint, change: (text: string, client: McpClient) => FileEdit): Promise<string[]> {
    const problems: string[] = [];
    await this.#deps.groups.update((document) => {
      const names = document.groups[endpoint.group]?.registered_clients ?? [];
      for (const name of names) {
        try {
          const client = supportedClient(name);
          this.#write([this.#edited(client, [endpoint], (text) => change(text, client))]);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
          problems.push(error.message);
        }
      }
      return document;
    });
    return problems;
  }

  /** Returns the document without the registrations, and removes their entries from the configuration files. */
  withoutClients(document: GroupsDocument, names: readonly string[], requested?: readonly string[]): GroupsDocument {
    const after = removed(document, names, requested);
    const edits = [...new Set(names)].map((name) => {
      const client = supportedClient(name);
      const before = groupsOf(document, name);
      const left = groupsOf(after, name);
      const gone = before.filter((group) => !left.includes(group));
      return this.#plan(client, gone, (text, endpoint) => unregisterOwn(text, client, endpoint));
    });
    this.#write(edits);
    return after;
  }

  #plan(
    client: McpClient,
    groups: readonly string[],
    change: (text: string, endpoint: ClientEndpoint) => FileEdit,
  ): PlannedEdit {
    const endpoints = this.#deps.endpoints().filter(({ group }) => groups.includes(group));
    return this.#edited(client, endpoints, change);
  }

  #edited(
    client: McpClient,
    endpoints: readonly ClientEndpoint[],
    change: (text: string, endpoint: ClientEndpoint) => FileEdit,
  ): PlannedEdit {
    const path = configFileOf(client, this.#deps.folders);
    const file = usable(() => readUserFile(path));
    const text = endpoints.reduce((before, { name, url }) => {
      const edit = change(before, { name, url });
      if ('text' in edit) return edit.text;
      if (edit.problem.isTaken)
        throw new OperationError('entry_exists', `${path} has another entry "${name}": remove it first`);
      throw new OperationError('client_file_unusable', `${path} ${edit.problem.message}`);
    }, file.text);
    return { file, text };
  }

  /** Writes all files, or none: an error restores those that were written before. */
  #write(edits: readonly PlannedEdit[]): void {
    const written: PlannedEdit[] = [];
    try {
      for (const edit of edits) {
        if (edit.text === edit.file.text) continue;
        usable(() => {
          writeUserFile(edit.file, edit.text, this.#deps.now());
        });
        written.push(edit);
      }
    } catch (error) {
      for (const { file, text } of written) writeUserFile({ ...file, text }, file.text, this.#deps.now());
      throw error;
    }
  }
}

/** Removes an entry, except one that the user has changed. */
function unregisterOwn(text: string, client: McpClient, endpoint: ClientEndpoint): FileEdit {
  const change = removeEntry(text, client, endpoint);
  return 'problem' in change ? { text } : change;
}

function supportedClient(name: string): McpClient {
  const client = CLIENTS.find(({ type }) => type === name);
  if (client) return client;
  throw new OperationError('unsupported_client', `"${name.slice(0, 100)}" is not a supported client type`);
}

/** Turns an unusable file into a declared error: the message names the file. */
function usable<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof UserFileError) throw new OperationError('client_file_unusable', error.message);
    throw error;
  }
}

const isRegistered = (document: GroupsDocument, name: string): boolean =>
  document.clients.includes(name) || groupsOf(document, name).length > 0;

const groupsOf = ({ groups }: GroupsDocument, client: string): string[] =>
  Object.keys(groups)
    .filter((name) => groups[name]?.registered_clients.includes(client))
    .toSorted();

const withGroups = (name: string, groups: readonly string[]): ClientRegistration => ({
  name,
  ...(groups.length > 0 && { groups }),
});

const union = (list: readonly string[], more: readonly string[]): string[] => [...new Set([...list, ...more])];

function added(document: GroupsDocument, names: readonly string[], groups: readonly string[]): GroupsDocument {
  if (groups.length === 0) return { ...document, clients: union(document.clients, names) };
  const inGroups = mapGroups(document.groups, (group, name) =>
    groups.includes(name) ? { ...group, registered_clients: union(group.registered_clients, names) } : group,
  );
  return { ...document, groups: inGroups };
}

function removed(document: GroupsDocument, names: readonly string[], groups?: readonly string[]): GroupsDocument {
  const without = (list: readonly string[]): string[] => list.filter((name) => !names.includes(name));
  const inGroups = mapGroups(document.groups, (group, name) =>
    groups && !groups.includes(name) ? group : { ...group, registered_clients: without(group.registered_clients) },
  );
  return { groups: inGroups, clients: groups ? document.clients : without(document.clients) };
}

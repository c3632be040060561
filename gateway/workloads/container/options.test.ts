import { describe, expect, it } from 'vitest';
import { SCHEMA_VERSION, type RunConfig } from '../../contract/run-config/run-config.ts';
import { containerOptionsOf } from './options.ts';

const config = (members: Partial<RunConfig> = {}): RunConfig => ({
  schema_version: SCHEMA_VERSION,
  name: 'demo',
  image: 'example.com/mcp/server:1',
  ...members,
});
const problemsOf = (members: Partial<RunConfig>) =>
  containerOptionsOf(config(members)).problems.map(({ path, message }) => `${path}: ${message}`);
const optionsOf = (members: Partial<RunConfig>) => {
  const { options, problems } = containerOptionsOf(config(members));
  expect(problems).toEqual([]);
  return options;
};

describe('the options of a container', () => {
  it('isolate it and allow all hosts when nothing is configured', () => {
    expect(optionsOf({})).toEqual({ isolation: { allow_all: true } });
    expect(optionsOf({ permission_profile_name_or_path: 'network' })).toEqual({ isolation: { allow_all: true } });
  });

  it('do not isolate it when isolate_network is false', () => {
    expect(optionsOf({ isolate_network: false })).toEqual({});
  });

  it('allow no host with the built-in profile none', () => {
    expect(optionsOf({ permission_profile_name_or_path: 'none' })).toEqual({ isolation: {} });
  });

  it('hold every member of the profile and of the configuration', () => {
    const options = optionsOf({
      permission_profile: {
        read: ['/etc/app', '/srv/data:/data/'],
        write: ['/var/cache/app'],
        network: {
          mode: 'bridge',
          inbound: { allow_host: ['mcp.local'] },
          outbound: { allow_host: ['api.example.com', '.example.org', '[2001:db8::1]'], allow_port: [443] },
        },
      },
      allow_container_gateway: true,
      volumes: ['/home/user/notes:/notes', '/opt/with space,comma:/opt/x:ro'],
      publish: ['9100:9000', '9101:9000'],
      container_labels: { team: 'a b', 'org.example/x': '' },
    });
    expect(options).toEqual({
      volumes: [
        '/home/user/notes:/notes',
        '/opt/with space,comma:/opt/x:ro',
        '/etc/app:/etc/app:ro',
        '/srv/data:/data:ro',
        '/var/cache/app:/var/cache/app',
      ],
      publish: ['9100:9000', '9101:9000'],
      labels: { team: 'a b', 'org.example/x': '' },
      isolation: {
        allow_hosts: ['api.example.com', '.example.org', '[2001:db8::1]'],
        allow_ports: [443],
        allow_container_gateway: true,
        inbound_hosts: ['mcp.local'],
      },
    });
  });

  it('mount files and volumes that a profile names by URI', () => {
    const permission_profile = {
      read: ['file:///srv/a', 'volume://cache:/cache/', 'VOLUME://other:/o'],
      write: ['file:///srv/b:/b', 'volume://notes.v1:/notes'],
    };
    expect(optionsOf({ permission_profile })).toMatchObject({
      volumes: ['/srv/a:/srv/a:ro', '/srv/b:/b'],
      engine_volumes: ['cache:/cache:ro', 'other:/o:ro', 'notes.v1:/notes'],
    });
    const twice = { read: ['volume://a:/x'], write: ['file:///b:/x'] };
    expect(problemsOf({ permission_profile: twice })).toEqual([
      'permission_profile.write[0]: mounts "/x" a second time: remove one of them',
    ]);
  });

  it('use ignore files where something is mounted', () => {
    const ignore_config = { loadGlobal: true, printOverlays: true };
    const volumes = ['/a:/a'];
    expect(optionsOf({ ignore_config, volumes })).toMatchObject({
      ignore: { load_global: true, print_overlays: true },
    });
    expect(optionsOf({ ignore_config: { loadGlobal: false }, volumes })).not.toHaveProperty('ignore');
    expect(optionsOf({ ignore_config })).not.toHaveProperty('ignore');
  });

  it('name a network only without isolation', () => {
    const profile = (mode: string) => ({ permission_profile: { network: { mode } } });
    expect(optionsOf({ ...profile('host'), isolate_network: false })).toEqual({ network: 'host' });
    expect(optionsOf({ ...profile('backend'), isolate_network: false })).toEqual({ network: 'backend' });
    expect(optionsOf(profile('none'))).toEqual({ network: 'none', isolation: {} });
    for (const mode of ['host', 'backend']) {
      expect(problemsOf({ ...profile(mode), isolate_network: true })).toEqual([
        `permission_profile.network.mode: a container in the network "${mode}" cannot be isolated: use bridge, or isolate_network: false`,
      ]);
    }
  });

  it('are privileged only without isolation', () => {
    const permission_profile = { privileged: true };
    expect(optionsOf({ permission_profile, isolate_network: false })).toEqual({ privileged: true });
    expect(problemsOf({ permission_profile })).toEqual([
      'permission_profile.privileged: a privileged container can leave its isolation: remove it, or use isolate_network: false',
    ]);
  });
});

describe('problems of a container', () => {
  it.each([
    ['relative:/data', 'the host path must be absolute'],
    ['/srv/../etc:/data', 'the host path must not contain ".."'],
    ['/srv:data', 'the container path must be absolute'],
    ['/srv:/data/..', 'the container path must not contain ".."'],
    ['/:/host', 'mounts the whole file system of this machine: mount the folder that the server needs'],
    ['///:/host:ro', 'mounts the whole file system of this machine: mount the folder that the server needs'],
    ['/srv:/', 'cannot replace the root of the container'],
    ['/srv', 'must be host:container or host:container:ro'],
    ['/srv:/data:z', 'must be host:container or host:container:ro'],
    ['/srv:/data:ro:x', 'must be host:container or host:container:ro'],
    ['', 'must be host:container or host:container:ro'],
    ['/srv\n:/data', 'the host path must not contain control characters'],
  ])('include the volume %j', (volume, message) => {
    expect(problemsOf({ volumes: ['/ok:/ok', volume] })).toEqual([`volumes[1]: ${message}`]);
  });

  it('include two mounts of one path', () => {
    expect(problemsOf({ volumes: ['/a:/data'], permission_profile: { read: ['/b:/data/'] } })).toEqual([
      'permission_profile.read[0]: mounts "/data" a second time: remove one of them',
    ]);
  });

  it('include a profile that is neither built in nor a file, and none until the file is read', () => {
    const named = (name: string) => containerOptionsOf(config({ permission_profile_name_or_path: name }));
    expect(named('profile.json').problems).toMatchObject([{ path: 'permission_profile_name_or_path' }]);
    expect(named('/etc/profile.json')).toEqual({ options: { isolation: {} }, problems: [] });
  });

  it('include URIs in a profile that are neither files nor volumes', () => {
    const { problems } = containerOptionsOf(config({ permission_profile: { write: ['resource://notes'] } }));
    expect(problems).toMatchObject([{ reason: 'NotSupportedYet', path: 'permission_profile.write[0]' }]);
  });

  it.each([
    ['volume://../etc:/data', 'must be volume://NAME:container'],
    ['volume://notes', 'must be volume://NAME:container'],
    ['volume://notes:/data:z', 'must be volume://NAME:container'],
    ['volume://notes:data', 'the container path must be absolute'],
    ['volume://notes:/', 'cannot replace the root of the container'],
    ['file://notes', 'the host path must be absolute'],
    ['file:///a/../etc', 'the host path must not contain ".."'],
    ['file:///', 'mounts the whole file system of this machine: mount the folder that the server needs'],
  ])('include the URI %s', (uri, message) => {
    expect(problemsOf({ permission_profile: { read: [uri] } })).toEqual([`permission_profile.read[0]: ${message}`]);
  });

  it.each(['80', '0:80', '80:0', '80:65536', '127.0.0.1:80:80', '80:80/udp', '--privileged'])(
    'include the published port %s',
    (publish) => {
      expect(problemsOf({ publish: [publish] })).toEqual([
        'publish[0]: must be hostPort:containerPort, each 1 to 65535',
      ]);
    },
  );

  it('include ports that are published twice or in the host network', () => {
    expect(problemsOf({ publish: ['80:80', '80:81'] })).toEqual([
      'publish[1]: publishes port 80 a second time: remove one of them',
    ]);
    const permission_profile = { network: { mode: 'host' } };
    expect(problemsOf({ publish: ['80:80'], permission_profile, isolate_network: false })).toEqual([
      'publish[0]: has no effect in the host network: remove it',
    ]);
  });

  it.each([
    ['dev.vmcp.workload', 'x', 'labels that start with "dev.vmcp." are set by vmcp'],
    ['a=b', 'x', 'a label name must have neither blanks nor "="'],
    ['', 'x', 'a label name must have neither blanks nor "="'],
    ['a', 'x\ny', 'must not contain control characters'],
  ])('include the label %j=%j', (key, value, message) => {
    expect(problemsOf({ container_labels: { [key]: value } })).toEqual([`container_labels.${key}: ${message}`]);
  });

  it.each(['container:other', 'ns:/proc/1/ns/net', '--privileged', 'slirp4netns:allow_host_loopback=true'])(
    'include the network %s',
    (mode) => {
      expect(problemsOf({ permission_profile: { network: { mode } }, isolate_network: false })).toEqual([
        'permission_profile.network.mode: must be bridge, none, host or the name of a network',
      ]);
    },
  );

  it('include hosts and ports that never match', () => {
    const outbound = { allow_host: ['https://example.com', 'a b', ''], allow_port: [443, 0] };
    expect(problemsOf({ permission_profile: { network: { outbound } } })).toEqual([
      ...[0, 1, 2].map(
        (at) =>
          `permission_profile.network.outbound.allow_host[${at}]: must be a host name or an address, without port`,
      ),
      'permission_profile.network.outbound.allow_port[1]: must be a port, 1 to 65535',
    ]);
  });
});

describe.each(['npx://server', 'uvx://server'])('a package such as %s', (image) => {
  it('needs no options and is not isolated', () => {
    expect(containerOptionsOf(config({ image }))).toEqual({ problems: [] });
    expect(containerOptionsOf(config({ image, isolate_network: false, volumes: [] }))).toEqual({ problems: [] });
  });

  it('rejects all settings that a process cannot have, with the reason', () => {
    const problems = problemsOf({
      image,
      isolate_network: true,
      allow_container_gateway: true,
      volumes: ['/a:/b'],
      publish: ['1:1'],
      container_labels: { a: 'b' },
      permission_profile: {
        privileged: true,
        read: ['/a'],
        write: ['/a'],
        network: { mode: 'none', inbound: { allow_host: ['a'] }, outbound: { allow_host: ['a'] } },
      },
    });
    const profile = ['network.mode', 'network.inbound', 'network.outbound', 'privileged', 'read', 'write'];
    expect(problems.map((line) => line.split(':')[0])).toEqual([
      ...['volumes', 'publish', 'container_labels', 'isolate_network', 'allow_container_gateway'],
      ...profile.map((member) => `permission_profile.${member}`),
    ]);
    expect(problems[3]).toContain('runs as a process of your user, whose network access cannot be limited');
  });

  it('rejects the built-in profile none', () => {
    expect(problemsOf({ image, permission_profile_name_or_path: 'none' })).toHaveLength(1);
    expect(problemsOf({ image, permission_profile: { name: 'none' } })).toHaveLength(1);
    expect(problemsOf({ image, permission_profile_name_or_path: 'network' })).toEqual([]);
  });
});

describe('a remote server', () => {
  it('rejects settings of containers', () => {
    const remote = { image: '', remote_url: 'https://example.com/mcp' };
    expect(containerOptionsOf(config({ ...remote, isolate_network: true }))).toEqual({ problems: [] });
    expect(problemsOf({ ...remote, volumes: ['/a:/b'] })).toEqual([
      'volumes: a remote server has no container: remove it',
    ]);
  });
});

// Looks before anything starts whether the ports of the settings can be listened at.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type Settings, SettingsFault } from '../settings/settings.ts';
import { pause } from '../time/clock.ts';

/** The simulator of a platform that was killed ends within moments, and so its port becomes free. */
const simulatorPatienceMs = 700;
const lookAgainMs = 50;

type Ports = Pick<
  Settings,
  | 'environment'
  | 'roles'
  | 'simulators'
  | 'host'
  | 'port'
  | 'devicePort'
  | 'acquirerPort'
  | 'metricsHost'
  | 'metricsPort'
>;

type Wanted = { readonly setting: ListenerSetting; readonly host: string; readonly port: number };

function wantedPorts(settings: Ports): Wanted[] {
  const { host, roles, environment, simulators } = settings;
  const startsSimulator =
    environment !== 'production' &&
    simulators === 'on' &&
    roles.has('cards') &&
    roles.has('identity');
  const wanted: (Wanted | false)[] = [
    { setting: 'PORT', host, port: settings.port },
    roles.has('identity') && { setting: 'DEVICE_PORT', host, port: settings.devicePort },
    { setting: 'METRICS_PORT', host: settings.metricsHost, port: settings.metricsPort },
    startsSimulator && { setting: 'ACQUIRER_PORT', host: '127.0.0.1', port: settings.acquirerPort },
  ];
  return wanted.filter((each) => each !== false).filter(({ port }) => port !== 0);
}

/**
 * Reports every port that is not free, so that nothing was made, migrated or seeded before.
 *
 * @throws SettingsFault where two of our own listeners have one port
 * @throws Error where another program has one, or the host is none of this machine
 */
export async function checkPorts(settings: Ports): Promise<void> {
  const wanted = wantedPorts(settings);
  const held: { readonly by: Wanted; readonly server: Server }[] = [];
  const faults: string[] = [];
  try {
    for (const each of wanted) {
      const answer = await holdPort(each);
      held.push(...answer.servers.map((server) => ({ by: each, server })));
      if (answer.error === undefined) continue;
      const twin = held.find(({ by }) => by !== each && by.port === each.port)?.by;
      if (twin !== undefined && answer.error.code === 'EADDRINUSE') {
        throw new SettingsFault([
          `SWITCHYARD_${each.setting} is ${each.port}, which SWITCHYARD_${twin.setting} is as well; give them different ports`,
        ]);
      }
      faults.push(portFault(answer.error, each));
    }
  } finally {
    await Promise.all(held.map(({ server }) => close(server)));
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

type Held = { readonly servers: Server[]; readonly error?: NodeJS.ErrnoException };

async function holdPort(wanted: Wanted): Promise<Held> {
  const patienceMs = wanted.setting === 'ACQUIRER_PORT' ? simulatorPatienceMs : 0;
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const answer = await holdOnce(wanted);
    if (answer.error?.code !== 'EADDRINUSE' || performance.now() >= endMs) return answer;
    await Promise.all(answer.servers.map(close));
    await pause(lookAgainMs);
  }
}

async function holdOnce({ host, port }: Wanted): Promise<Held> {
  const servers: Server[] = [];
  try {
    for (const address of await addressesOf(host)) {
      const server = createServer();
      server.listen({ port, host: address });
      await once(server, 'listening').then(
        () => servers.push(server),
        (error: NodeJS.ErrnoException) => {
          // A machine without IPv6 has one of the two addresses of localhost.
          if (host !== 'localhost' || error.code !== 'EADDRNOTAVAIL') throw error;
        },
      );
    }
    return { servers };
  } catch (error) {
    return { servers, error: error as NodeJS.ErrnoException };
  }
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  const addresses = [...new Set(found.map(({ address }) => address))];
  // The listeners open every address of localhost, and the first one of any other name.
  return host === 'localhost' ? addresses : addresses.slice(0, 1);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}

type ListenerPorts = Pick<Settings, 'port' | 'devicePort' | 'metricsPort'>;
type ListenerSetting = 'PORT' | 'DEVICE_PORT' | 'METRICS_PORT' | 'ACQUIRER_PORT';

const names = { port: 'PORT', devicePort: 'DEVICE_PORT', metricsPort: 'METRICS_PORT' } as const;

function portFault(
  { code, message }: NodeJS.ErrnoException,
  { setting, port, host }: { setting: ListenerSetting; port: number; host: string },
): string {
  const name = `SWITCHYARD_${setting}`;
  const hostName = setting === 'METRICS_PORT' ? 'SWITCHYARD_METRICS_HOST' : 'SWITCHYARD_HOST';
  if (code === 'EADDRINUSE') return inUse(port, name);
  if (code === 'EACCES') {
    return `Port ${port} needs a right that this process lacks. Give it CAP_NET_BIND_SERVICE, or set ${name} to 1024 or more.`;
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${hostName} is ${host}, which is no address of this machine. Set it to one, or to 0.0.0.0 for all.`;
  }
  return `Port ${port} (${name}) cannot be listened at: ${message}`;
}

const inUse = (port: number, name: string) =>
  `Port ${port} is in use by another program. Stop that program, or set ${name} to a free port.`;

/** For a port that was taken after the start had looked: the fault in words that help; else the fault as it came. */
export function explainPortInUse(error: unknown, settings: ListenerPorts): unknown {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' || typeof port !== 'number') return error;
  const held = (Object.keys(names) as (keyof ListenerPorts)[]).find(
    (name) => settings[name] === port,
  );
  const name = held === undefined ? 'its setting' : `SWITCHYARD_${names[held]}`;
  return new Error(inUse(port, name), { cause: error });
}

// Checks before the start that the ports of the settings are free, and explains errors of listeners.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { pause } from '../time/clock.ts';

/** The simulator of a killed platform ends within this time, and its port becomes free. */
const simulatorPortWaitMs = 700;
const retryMs = 50;

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

type ListenPort = {
  readonly setting: ListenerSetting;
  readonly host: string;
  readonly port: number;
};

function listListenPorts(settings: Ports): ListenPort[] {
  const { host, roles, environment, simulators } = settings;
  const startsSimulator =
    environment !== 'production' &&
    simulators === 'on' &&
    roles.has('cards') &&
    roles.has('identity');
  const ports: (ListenPort | false)[] = [
    { setting: 'PORT', host, port: settings.port },
    roles.has('identity') && { setting: 'DEVICE_PORT', host, port: settings.devicePort },
    { setting: 'METRICS_PORT', host: settings.metricsHost, port: settings.metricsPort },
    startsSimulator && { setting: 'ACQUIRER_PORT', host: '127.0.0.1', port: settings.acquirerPort },
  ];
  return ports.filter((port) => port !== false).filter(({ port }) => port !== 0);
}

/**
 * Reports every port that is not free, before the platform creates, migrates or seeds anything.
 *
 * @throws SettingsError if two listeners of the platform have the same port
 * @throws Error if another program uses a port, or the host is not an address of this machine
 */
export async function requireFreePorts(settings: Ports): Promise<void> {
  const ports = listListenPorts(settings);
  const boundServers: { readonly owner: ListenPort; readonly server: Server }[] = [];
  const faults: string[] = [];
  try {
    for (const port of ports) {
      const result = await bindPort(port);
      boundServers.push(...result.servers.map((server) => ({ owner: port, server })));
      if (result.error === undefined) continue;
      const conflict = boundServers.find(
        ({ owner }) => owner !== port && owner.port === port.port,
      )?.owner;
      if (conflict !== undefined && result.error.code === 'EADDRINUSE') {
        throw new SettingsError([
          `SWITCHYARD_${port.setting} and SWITCHYARD_${conflict.setting} are both ${port.port}; use different ports`,
        ]);
      }
      faults.push(describeListenError(result.error, port));
    }
  } finally {
    await Promise.all(boundServers.map(({ server }) => close(server)));
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

type BindResult = { readonly servers: Server[]; readonly error?: NodeJS.ErrnoException };

async function bindPort(port: ListenPort): Promise<BindResult> {
  const waitMs = port.setting === 'ACQUIRER_PORT' ? simulatorPortWaitMs : 0;
  const endMs = performance.now() + waitMs;
  for (;;) {
    const result = await bindOnce(port);
    if (result.error?.code !== 'EADDRINUSE' || performance.now() >= endMs) return result;
    await Promise.all(result.servers.map(close));
    await pause(retryMs);
  }
}

async function bindOnce({ host, port }: ListenPort): Promise<BindResult> {
  const servers: Server[] = [];
  try {
    for (const address of await resolveAddresses(host)) {
      // A client that connects during the check would otherwise keep the server from closing.
      const server = createServer((socket) => socket.destroy());
      server.listen({ port, host: address });
      await once(server, 'listening').then(
        () => servers.push(server),
        (error: NodeJS.ErrnoException) => {
          // A machine without IPv6 has only one of the two addresses of localhost.
          if (host !== 'localhost' || error.code !== 'EADDRNOTAVAIL') throw error;
        },
      );
    }
    return { servers };
  } catch (error) {
    return { servers, error: error as NodeJS.ErrnoException };
  }
}

async function resolveAddresses(host: string): Promise<string[]> {
  const results = await lookup(host, { all: true });
  const addresses = [...new Set(results.map(({ address }) => address))];
  // The listeners use every address of localhost, and the first address of any other name.
  return host === 'localhost' ? addresses : addresses.slice(0, 1);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
}

type ListenerPorts = Pick<Settings, 'port' | 'devicePort' | 'metricsPort'>;
type ListenerSetting = 'PORT' | 'DEVICE_PORT' | 'METRICS_PORT' | 'ACQUIRER_PORT';

const settingNames = {
  port: 'PORT',
  devicePort: 'DEVICE_PORT',
  metricsPort: 'METRICS_PORT',
} as const;

function describeListenError(
  { code, message }: NodeJS.ErrnoException,
  { setting, port, host }: { setting: ListenerSetting; port: number; host: string },
): string {
  const name = `SWITCHYARD_${setting}`;
  const hostName = setting === 'METRICS_PORT' ? 'SWITCHYARD_METRICS_HOST' : 'SWITCHYARD_HOST';
  if (code === 'EADDRINUSE') return describePortInUse(port, name);
  if (code === 'EACCES') {
    return `Port ${port} needs a privilege that this process lacks. Grant CAP_NET_BIND_SERVICE, or set ${name} to 1024 or more.`;
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${hostName} is ${host}, which is not an address of this machine. Set it to one, or to 0.0.0.0 for all addresses.`;
  }
  return `Port ${port} (${name}) cannot be used: ${message}`;
}

const describePortInUse = (port: number, name: string) =>
  `Port ${port} is in use by another program. Stop that program, or set ${name} to a free port.`;

/** Explains a port that another program took after the check. Other errors are returned unchanged. */
export function explainPortInUse(error: unknown, settings: ListenerPorts): unknown {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' || typeof port !== 'number') return error;
  const settingKey = (Object.keys(settingNames) as (keyof ListenerPorts)[]).find(
    (name) => settings[name] === port,
  );
  const name = settingKey === undefined ? 'its setting' : `SWITCHYARD_${settingNames[settingKey]}`;
  return new Error(describePortInUse(port, name), { cause: error });
}

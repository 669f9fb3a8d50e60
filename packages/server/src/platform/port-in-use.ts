// Says of a port that cannot be listened at which setting chooses another one.
import type { Settings } from './settings.ts';

type Ports = Pick<Settings, 'port' | 'devicePort' | 'metricsPort'>;
export type ListenerSetting = 'PORT' | 'DEVICE_PORT' | 'METRICS_PORT' | 'ACQUIRER_PORT';

const names = { port: 'PORT', devicePort: 'DEVICE_PORT', metricsPort: 'METRICS_PORT' } as const;

export function portFault(
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
export function explainPortInUse(error: unknown, settings: Ports): unknown {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' || typeof port !== 'number') return error;
  const held = (Object.keys(names) as (keyof Ports)[]).find((name) => settings[name] === port);
  const name = held === undefined ? 'its setting' : `SWITCHYARD_${names[held]}`;
  return new Error(inUse(port, name), { cause: error });
}

// Says of a port that somebody else holds which setting chooses another one.
import type { Settings } from './settings.ts';
import { settingPrefix } from './settings-table.ts';

type Ports = Pick<Settings, 'port' | 'devicePort' | 'metricsPort'>;

const names = { port: 'PORT', devicePort: 'DEVICE_PORT', metricsPort: 'METRICS_PORT' } as const;

/** The fault in words that help, where it is a port in use; else the fault as it came. */
export function explainPortInUse(error: unknown, settings: Ports): unknown {
  const { code, port } = (error ?? {}) as { code?: unknown; port?: unknown };
  if (code !== 'EADDRINUSE' || typeof port !== 'number') return error;
  const held = (Object.keys(names) as (keyof Ports)[]).find((name) => settings[name] === port);
  const setting = held === undefined ? 'its setting' : settingPrefix + names[held];
  return new Error(
    `Port ${port} is in use by another program. ` +
      `Stop that program, or set ${setting} to a free port.`,
    { cause: error },
  );
}

// A demo platform as a separate process, in a temporary directory and on free ports.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../free-ports.ts';
import { createServerProcess, type ProcessOptions, type ServerProcess } from './server-process.ts';

export type DemoServer = {
  /** Not started yet. */
  readonly server: ServerProcess;
  readonly directory: string;
  /** The data directory of the platform, inside `directory`. */
  readonly dataDir: string;
  /** Stops the process and removes the directory. */
  close(): Promise<void>;
};

/**
 * @param name part of the directory's name
 * @param settings in addition to the data directory and the ports, or in their place
 */
export async function createDemoServer(
  name: string,
  settings: Readonly<Record<string, string>> = {},
  options: ProcessOptions = {},
): Promise<DemoServer> {
  const directory = await mkdtemp(join(tmpdir(), `switchyard-${name}-`));
  const dataDir = join(directory, 'data');
  const [port = '', devicePort = '', metricsPort = '', acquirerPort = ''] = (
    await freePorts(4)
  ).map(String);
  const server = createServerProcess(
    {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: port,
      SWITCHYARD_DEVICE_PORT: devicePort,
      SWITCHYARD_METRICS_PORT: metricsPort,
      SWITCHYARD_ACQUIRER_PORT: acquirerPort,
      ...settings,
    },
    options,
  );
  return {
    server,
    directory,
    dataDir,
    async close() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

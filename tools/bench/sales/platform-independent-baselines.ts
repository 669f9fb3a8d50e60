// The fixed line and the bare server: baselines of sales that stay the same when the platform changes.
import { randomUUID } from 'node:crypto';
import type { BareServerFunctions } from '../baseline/bare-server-process.ts';
import type { FixedLineFunctions } from '../baseline/fixed-line-process.ts';
import type { CallersRun } from '../baseline/measure-callers.ts';
import type { BenchOptions } from '../bench-options.ts';
import { startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { readServerCertificate } from '../environment/platform.ts';
import type { SalesLoad } from './load-generator.ts';
import { openLoadGenerator, type SalesEnvironment } from './sales-environment.ts';

export type PlatformIndependentBaselines = {
  runFixedLine(seconds: number): Promise<CallersRun[]>;
  /** The load of the bare server, which accepts the requests of the platform. */
  bareServerLoad: SalesLoad;
};

export async function openPlatformIndependentBaselines(
  closers: CloseStack,
  { platform, server, simulator }: Pick<SalesEnvironment, 'platform' | 'server' | 'simulator'>,
  options: BenchOptions,
): Promise<PlatformIndependentBaselines> {
  const { baselineUrl: url, postgresPid } = platform;
  const scriptUrl = (name: string) => new URL(`../baseline/${name}`, import.meta.url);
  const fixedLine = startProcess<FixedLineFunctions>(closers, scriptUrl('fixed-line-process.ts'));
  await fixedLine.call('createTables', url);
  const bareServer = startProcess<BareServerFunctions>(
    closers,
    scriptUrl('bare-server-process.ts'),
  );
  const port = await bareServer.call('listen', {
    url,
    certificate: readServerCertificate(platform),
    simulatorPort: simulator.port,
  });
  const { load, setTills } = await openLoadGenerator(
    closers,
    {
      target: { port, authority: `localhost:${port}`, ca: server.target.ca },
      watched: { server: bareServer.pid, postgres: postgresPid, simulator: simulator.pid },
    },
    options,
  );
  await setTills([{ token: 'none', deviceIds: [randomUUID()] }]);
  return {
    runFixedLine: (seconds) => fixedLine.call('run', { url, postgresPid, seconds }),
    bareServerLoad: load,
  };
}

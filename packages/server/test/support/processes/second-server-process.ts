// A second platform instance on the test database, to test concurrent work of two processes.
import { type ApplicationOptions, createApplication } from '../../../src/application.ts';
import { createLog, ensureListenerCertificate, systemClock } from '../../../src/platform/index.ts';
import { testDatabase } from '../database/test-database.ts';
import { freePorts } from '../free-ports.ts';
import { highLoadLimits } from '../high-load-limits.ts';
import { type Client, createClient } from '../https-client.ts';
import type { TestOrganization } from '../test-organization.ts';
import { until } from '../wait-for-result.ts';

export type SecondProcess = { readonly client: Client; stop(): Promise<void> };

/**
 * Processes payments of the organisation over its own links; either instance may run the jobs.
 *
 * @param overrides clocks and connections that differ from those of the test platform
 */
export async function startSecondProcess(
  setup: TestOrganization,
  overrides: Partial<
    Pick<ApplicationOptions, 'clock' | 'identityClock' | 'database' | 'timeline'>
  > = {},
): Promise<SecondProcess> {
  const [port = 0, devicePort = 0] = await freePorts(2);
  const settings = { ...setup.settings, port, devicePort, roles: new Set(['cards'] as const) };
  const log = createLog(settings, { write: (line: string) => void setup.logLines.push(line) });
  const platform = await createApplication({
    settings,
    log,
    database: await testDatabase(),
    tls: await ensureListenerCertificate({ settings, clock: systemClock }),
    validatesResponses: true,
    loadLimits: highLoadLimits,
    ...overrides,
  });
  await platform.start();
  await platform.http.listen();
  const client = createClient(`https://localhost:${port}`, setup.ca);
  await until(async () => {
    const path = '/payment/v1/transactions/technical/isAvailable';
    const { body } = await client.call('GET', path, { token: setup.merchant.token });
    return body.available === true ? true : undefined;
  }, 'the link of the second process to sign on');
  return {
    client,
    async stop() {
      client.close();
      await platform.stop();
    },
  };
}

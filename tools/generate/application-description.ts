// Creates the application without starting it, and reads what describes it: its routes and its metrics.
import { randomBytes } from 'node:crypto';
import { createApplication } from '../../packages/server/src/application.ts';
import { createLog, openDatabase, readSettings } from '../../packages/server/src/platform/index.ts';

export type MetricDescription = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
};

export type ApplicationDescription = {
  /** The OpenAPI document as JSON text. */
  readonly openApi: string;
  readonly metrics: readonly MetricDescription[];
};

/** The fields of a metric of prom-client that its types leave out. */
type RegisteredMetric = { name: string; help: string; type: string; labelNames: string[] };

export async function describeApplication(): Promise<ApplicationDescription> {
  const settings = readSettings({
    SWITCHYARD_LOG_LEVEL: 'silent',
    SWITCHYARD_PLATFORM_KEY: randomBytes(32).toString('base64'),
    SWITCHYARD_VAULT_KEY: randomBytes(32).toString('base64'),
    // Some metrics exist only with several nodes, or with traces.
    SWITCHYARD_NATS_URL: 'nats://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  });
  const log = createLog(settings);
  // The description of the routes needs no database.
  const database = openDatabase({ url: 'postgresql://unused@127.0.0.1:1/unused', log });
  const application = await createApplication({ settings, database, log });
  try {
    const answer = await application.http.app.inject('/openapi.json');
    if (answer.statusCode !== 200) throw new Error(`/openapi.json answered ${answer.statusCode}`);
    const registered = application.metrics.registry.getMetricsAsArray() as unknown[];
    return {
      openApi: `${JSON.stringify(answer.json(), null, 2)}\n`,
      metrics: (registered as RegisteredMetric[])
        .map(({ name, help, type, labelNames }) => ({ name, help, type, labels: labelNames }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    };
  } finally {
    await application.stop();
    await database.close();
  }
}

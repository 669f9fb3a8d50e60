// docs/reference/metrics.md: the metrics of the platform.
import type { MetricDescription } from './application-description.ts';
import { code, table } from './markdown.ts';

const opening = `# Metrics

The monitoring listener (\`SWITCHYARD_METRICS_HOST\`, \`SWITCHYARD_METRICS_PORT\`) serves the metrics at \`/metrics\` in the
format of Prometheus, and the health at \`/healthz\` and \`/readyz\`. It also serves the usual metrics of Node.js
(\`process_*\`, \`nodejs_*\`). [Monitor the platform](../how-to/operators/monitor-the-platform.md) has alerts and dashboards.

A counter rises until the process restarts; use its increase. Counters with the label \`link\`, and those of alerts, exist
from the start with the value 0. Other counters with labels appear with their first event. The gauge of circuit breakers
is absent while none is open. The gauges of certificates exist for those that the process has loaded. The metrics
\`switchyard_hsm_*\` exist only with \`SWITCHYARD_HSM\`, and those of NATS only with \`SWITCHYARD_NATS_URL\`. A histogram has
the suffixes \`_bucket\`, \`_sum\` and \`_count\`. Names that end in \`_seconds\` count seconds.

`;

export function metricsDocument(metrics: readonly MetricDescription[]): string {
  const rows = metrics.map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help.replace(/\.$/, ''),
  ]);
  return `${opening}${table(['Name', 'Type', 'Labels', 'Meaning'], rows)}\n`;
}

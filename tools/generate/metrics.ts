// docs/reference/metrics.md: the metrics of the platform, and the values that need attention.
import type { MetricDescription } from './application-description.ts';
import { code, table } from './markdown.ts';

const opening = `# Metrics

The monitoring listener (\`SWITCHYARD_METRICS_HOST\`, \`SWITCHYARD_METRICS_PORT\`) serves the metrics at \`/metrics\` in the
format of Prometheus, and the health at \`/healthz\` and \`/readyz\`. It also serves the usual metrics of Node.js
(\`process_*\`, \`nodejs_*\`).

A counter rises until the process restarts, so set an alarm on its increase and not on its value. The counters of the
alarms below exist from the start with the value 0; other counters with labels appear with their first event. A gauge is
a current value. Gauges with the label \`link\` or \`service\` are absent until there is such a link or an open circuit
breaker. The metrics \`switchyard_hsm_*\` exist only with \`SWITCHYARD_HSM\`, and those of NATS only with
\`SWITCHYARD_NATS_URL\`. A histogram has the suffixes \`_bucket\`, \`_sum\` and \`_count\`. Names that end in \`_seconds\` count seconds.

## Alarms

Set these alarms first. A platform without faults meets none of the conditions. A rule of Prometheus for one of them:

\`\`\`yaml
groups:
  - name: switchyard
    rules:
      - alert: UnknownResponseCode
        expr: increase(switchyard_acquirer_unknown_codes_total[10m]) > 0
\`\`\`

`;

/** Conditions for an alarm, and what to check then. */
const alarms: Readonly<Record<string, readonly [condition: string, action: string]>> = {
  switchyard_acquirer_link_up: [
    '0 for a minute',
    'Check the network and the host of the acquirer. Sales of this link are refused.',
  ],
  switchyard_acquirer_queue_oldest_seconds: [
    'above 300',
    'The host does not answer reversals, captures or refunds. Call the acquirer.',
  ],
  switchyard_acquirer_queue_stuck_messages: [
    'above 0',
    'Read the log of the link: the message needs a decision with the acquirer.',
  ],
  switchyard_acquirer_unencodable_messages_total: [
    'any increase',
    'The log has the field. Correct its format in the table of the host. Until then these payments are refused with `not_sent`, and reversals wait.',
  ],
  switchyard_acquirer_unknown_codes_total: [
    'any increase',
    'The log has the code. Add it to the table of the host.',
  ],
  switchyard_clearing_files_oldest_seconds: [
    'above one day',
    'The acquirer has not acknowledged a file. Check the transfer.',
  ],
  switchyard_clearing_lines_oldest_seconds: [
    'above one day',
    'Captures are in no file. Check the clearing configuration of the link.',
  ],
  switchyard_connector_nats_up: [
    '0 for a minute',
    'Check the NATS cluster. Sessions between nodes fail.',
  ],
  switchyard_database_up: [
    '0 for ten seconds',
    'Check PostgreSQL. Until then all payments are refused with `database_unavailable`.',
  ],
  switchyard_hsm_up: ['below 1', 'Check the HSM and its network. At 0, sales with a PIN fail.'],
  switchyard_http_load_ratio: [
    'above 0.8 for five minutes',
    'Add processes. From 1 on, sales are refused with `overloaded`.',
  ],
  switchyard_jobs_oldest_due_seconds: [
    'above 60',
    'Check that a process with the role `jobs` runs, and the load of the database.',
  ],
  switchyard_jobs_repeated_failures_total: ['any increase', 'The log has the error of the job.'],
  switchyard_numbering_recovery_required: [
    '1',
    'The database was restored. Follow “Recover a restored database”.',
  ],
  switchyard_outbox_age_seconds: [
    'above 60',
    'Events are late. Check the processes with the role `jobs`.',
  ],
  switchyard_provider_circuit_breaker_state: [
    '1 for five minutes',
    'The provider does not answer. Inform it; its payments are refused.',
  ],
  switchyard_qr_manual_review: ['above 0', 'Decide the payments in the portal.'],
  switchyard_reports_lag_seconds: [
    'above 300',
    'Reports are late. Check the processes with the role `jobs`.',
  ],
  switchyard_vault_keys_unwrapped_total: [
    'any increase of the outcome `refused` or `unavailable`',
    'Check the key provider. At `refused`, a key was exchanged, moved or forbidden: investigate immediately.',
  ],
  switchyard_vault_pan_access_log_failures_total: [
    'any increase',
    'Check the database: accesses to card numbers are not recorded.',
  ],
  switchyard_webhook_endpoints_disabled_total: [
    'any increase',
    'Inform the owner of the endpoint.',
  ],
  switchyard_webhook_oldest_due_seconds: [
    'above 60',
    'Deliveries are late. Check the processes with the role `jobs`.',
  ],
};

export function metricsDocument(metrics: readonly MetricDescription[]): string {
  const names = new Set(metrics.map(({ name }) => name));
  const unknown = Object.keys(alarms).filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`no metric has the name ${unknown.join(', ')}`);
  const alarmRows = Object.entries(alarms).map(([name, cells]) => [code(name), ...cells]);
  const rows = metrics.map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help.replace(/\.$/, ''),
  ]);
  return `${opening}${table(['Metric', 'Alarm if', 'Then'], alarmRows)}

## All metrics

${table(['Name', 'Type', 'Labels', 'Meaning'], rows)}
`;
}

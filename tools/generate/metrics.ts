// docs/reference/metrics.md: the metrics of the platform, and the values that need attention.
import type { MetricDescription } from './application-description.ts';
import { code, table } from './markdown.ts';

const opening = `# Metrics

The monitoring listener (\`SWITCHYARD_METRICS_HOST\`, \`SWITCHYARD_METRICS_PORT\`) serves the metrics at \`/metrics\` in the
format of Prometheus, and the health at \`/healthz\` and \`/readyz\`. It also serves the usual metrics of Node.js
(\`process_*\`, \`nodejs_*\`).

A counter rises until the process restarts, so set an alarm on its increase and not on its value. The counters of the
alarms below exist from the start with the value 0; other counters with labels appear with their first event. A gauge is
a current value. Gauges of queues and clearing files are absent for a link without such messages or files, and the gauge
of circuit breakers while none is open. The gauges of certificates exist for those that the process has loaded. The metrics \`switchyard_hsm_*\` exist only with \`SWITCHYARD_HSM\`, and those of
NATS only with \`SWITCHYARD_NATS_URL\`. A histogram has the suffixes \`_bucket\`, \`_sum\` and \`_count\`. Names that end in
\`_seconds\` count seconds.

## Alarms

Save these rules as a rule file of Prometheus. In the scrape configuration, name the job of the platform \`switchyard\`:
the rule \`ProcessDown\` selects it. A platform without faults meets none of the conditions.

`;

type Alarm = readonly [expression: string, action: string, minimumDuration?: string];

const increase = (series: string): string => `increase(${series}[10m]) > 0`;

/** The seconds until a certificate expires. */
const certificateExpiry =
  '(switchyard_certificate_expiry_timestamp_seconds or switchyard_acquirer_link_certificate_expiry_timestamp_seconds) - time()';

/** The sales that acquirers answered in a second, all or with these labels. */
const saleRate = (...labels: string[]): string =>
  `sum(rate(switchyard_acquirer_response_duration_seconds_count{${['kind=~"Sale|Authorization"', ...labels].join(',')}}[10m]))`;

/** Rules of Prometheus, and what to check when one fires. */
const alarms: Readonly<Record<string, Alarm>> = {
  ProcessDown: ['up{job="switchyard"} == 0', 'Check the process and its log.', '1m'],
  AcquirerLinkDown: [
    'switchyard_acquirer_link_up == 0',
    'Check the network and the host of the acquirer. Sales of this link are refused, unless a standby contract takes them.',
    '1m',
  ],
  SalesNotApproved: [
    `${saleRate('outcome!="Approved"')} / ${saleRate()} > 0.5 and ${saleRate()} > 20 / 600`,
    'Acquirers do not approve half of the sales. See the label outcome of the metric. Set the limit by your usual share.',
    '10m',
  ],
  AcquirerQueueOld: [
    'switchyard_acquirer_queue_oldest_seconds > 300',
    'The host does not answer reversals, captures or refunds. Call the acquirer.',
  ],
  AcquirerMessageStuck: [
    'switchyard_acquirer_queue_stuck_messages > 0',
    'Read the log of the link: the message needs a decision with the acquirer.',
  ],
  UnencodableMessage: [
    increase('switchyard_acquirer_unencodable_messages_total'),
    'The log has the field. Correct its format in the host table. Until then these payments are refused, and reversals wait.',
  ],
  UnknownResponseCode: [
    increase('switchyard_acquirer_unknown_codes_total'),
    'The log has the code. Add it to the host table.',
  ],
  ClearingFileUnacknowledged: [
    'switchyard_clearing_files_oldest_seconds > 86400',
    'The acquirer has not acknowledged a file. Check the transfer.',
  ],
  ClearingLinesDue: [
    'switchyard_clearing_lines_oldest_seconds > 86400',
    'Captures are in no file. Check the clearing configuration of the link.',
  ],
  NatsDown: [
    'switchyard_connector_nats_up == 0',
    'Check the NATS cluster. Sessions between nodes fail.',
    '1m',
  ],
  CertificateExpiresIn30Days: [
    `${certificateExpiry} < 30 * 86400`,
    'Renew the certificate. An expired certificate stops its connections, and a process with an expired listener certificate does not start.',
  ],
  CertificateExpiresIn7Days: [`${certificateExpiry} < 7 * 86400`, 'Renew the certificate today.'],
  DatabaseDown: [
    'switchyard_database_up == 0',
    'Check PostgreSQL. Until then all payments are refused with database_unavailable.',
    '10s',
  ],
  HsmDown: ['switchyard_hsm_up < 1', 'Check the HSM and its network. At 0, sales with a PIN fail.'],
  ProcessOverloaded: [
    'switchyard_http_load_ratio > 0.8',
    'Add processes. From 1 on, sales are refused with overloaded.',
    '5m',
  ],
  JobsLate: [
    'switchyard_jobs_oldest_due_seconds > 60',
    'Check that a process with the role jobs runs, and the load of the database.',
  ],
  JobFailsRepeatedly: [
    increase('switchyard_jobs_repeated_failures_total'),
    'The log has the error of the job.',
  ],
  RecoveryRequired: [
    'switchyard_numbering_recovery_required == 1',
    'The database was restored. Follow “Recover a restored database”.',
  ],
  EventsLate: [
    'switchyard_outbox_age_seconds > 60',
    'Events are late. Check the processes with the role jobs.',
  ],
  ProviderUnavailable: [
    'switchyard_provider_circuit_breaker_state == 1',
    'The provider does not answer. Inform it; its payments are refused.',
    '5m',
  ],
  QrManualReview: ['switchyard_qr_manual_review > 0', 'Decide the payments in the portal.'],
  ReportsLate: [
    'switchyard_reports_lag_seconds > 300',
    'Reports are late. Check the processes with the role jobs.',
  ],
  CardKeyRefused: [
    increase('switchyard_vault_keys_unwrapped_total{outcome=~"refused|unavailable"}'),
    'Check the key provider. At refused, a key was exchanged, moved or forbidden: investigate immediately.',
  ],
  CardAccessNotRecorded: [
    increase('switchyard_vault_pan_access_log_failures_total'),
    'Check the database: accesses to card numbers are not recorded.',
  ],
  WebhookEndpointDisabled: [
    increase('switchyard_webhook_endpoints_disabled_total'),
    'Inform the owner of the endpoint.',
  ],
  WebhooksLate: [
    'switchyard_webhook_oldest_due_seconds > 60',
    'Deliveries are late. Check the processes with the role jobs.',
  ],
};

function alarmRule([name, [expression, action, minimumDuration]]: [string, Alarm]): string {
  const lines = [`- alert: ${name}`, `  expr: ${expression}`];
  if (minimumDuration !== undefined) lines.push(`  for: ${minimumDuration}`);
  lines.push('  annotations:', `    summary: ${JSON.stringify(action)}`);
  return lines.map((line) => `      ${line}`).join('\n');
}

export function metricsDocument(metrics: readonly MetricDescription[]): string {
  const names = new Set(metrics.map(({ name }) => name));
  const unknown = Object.values(alarms)
    .flatMap(([expression]) => expression.match(/switchyard_\w+/g) ?? [])
    .map((name) => name.replace(/_count$/, ''))
    .filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`no metric has the name ${unknown.join(', ')}`);
  const rules = Object.entries(alarms).map(alarmRule).join('\n');
  const rows = metrics.map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help.replace(/\.$/, ''),
  ]);
  return `${opening}\`\`\`yaml
groups:
  - name: switchyard
    rules:
${rules}
\`\`\`

## All metrics

${table(['Name', 'Type', 'Labels', 'Meaning'], rows)}
`;
}

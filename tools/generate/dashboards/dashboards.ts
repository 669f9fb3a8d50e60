// The Grafana dashboards. `npm run generate` writes them to deploy/dashboards.
import {
  buildDashboard,
  type DashboardSource,
  graph,
  linkGauge,
  percentile,
  rate,
  series,
  stat,
  withLinkName,
} from './panels.ts';

const sale = 'operation="processTransaction"';
const requestDuration = 'switchyard_http_request_duration_seconds';
const acquirerDuration = 'switchyard_acquirer_response_duration_seconds';

const saleOutcomes = graph(
  [
    'Sales by outcome',
    'Reversed and Unknown: the cardholder is not charged, and the platform sends a reversal.',
  ],
  'reqps',
  { '{{outcome}}': rate('switchyard_sales_total', 'outcome') },
);

const saleDuration = graph(
  [
    'Response time of sales',
    'From the arrival of the request to the end of its response, the time of the acquirer included.',
  ],
  's',
  {
    median: percentile(0.5, requestDuration, '', sale),
    p99: percentile(0.99, requestDuration, '', sale),
  },
);

const eventDelay = graph(
  [
    'Age of events',
    'Age of the oldest event that is not published. Above 60 seconds the alert EventsLate fires.',
  ],
  's',
  { age: `max(${series('switchyard_outbox_age_seconds')})` },
);

const overview: DashboardSource = {
  name: 'overview',
  title: 'overview',
  description: 'Is the platform healthy? Service levels, sales and the load of the processes.',
  panels: [
    stat(['Processes', 'Processes that answer Prometheus.'], 'short', {
      up: `sum(${series('up', 'job="switchyard"')})`,
    }),
    stat(['Database', '1 if every process reaches PostgreSQL.'], 'short', {
      up: `min(${series('switchyard_database_up')})`,
    }),
    stat(['Acquirer links down', 'Links that no process can send on.'], 'short', {
      down: `sum(1 - max by (link) (${series('switchyard_acquirer_link_up')}))`,
    }),
    stat(['Urgent alerts', 'Alerts with the severity page that are firing.'], 'short', {
      firing: 'count(ALERTS{alertstate="firing", severity="page"}) or vector(0)',
    }),
    stat(['Oldest reversal', 'How long the oldest reversal has waited for the acquirer.'], 's', {
      age: `max(${series('switchyard_acquirer_queue_oldest_reversal_seconds')})`,
    }),
    stat(['Next certificate', 'Seconds until the first loaded certificate expires.'], 's', {
      remaining: `min(${series('switchyard_certificate_expiry_timestamp_seconds')}) - time()`,
    }),
    graph(
      [
        'Error budget left',
        'Share of the error budget of 30 days that is left. At 0 the service level is missed.',
      ],
      'percentunit',
      {
        '{{service_level}}':
          '1 - sum_over_time(service_level:switchyard_errors:rate5m[30d]) / sum_over_time(service_level:switchyard_events:rate5m[30d]) / service_level:switchyard_error_budget:ratio',
      },
    ),
    graph(
      [
        'Use of the error budget',
        'Over the last hour. At 1 the budget lasts exactly 30 days; above 14.4 an alert fires.',
      ],
      'short',
      { '{{service_level}}': 'service_level:switchyard_budget_burn:rate1h' },
    ),
    saleOutcomes,
    saleDuration,
    graph(
      [
        'Requests by status',
        'All HTTP requests. Status 503 is a refusal that the client can repeat.',
      ],
      'reqps',
      {
        '{{status}}': rate(`${requestDuration}_count`, 'status'),
      },
    ),
    graph(['Load', 'At 1 a process refuses sales with the error overloaded.'], 'percentunit', {
      '{{instance}}': series('switchyard_http_load_ratio'),
    }),
    graph(['CPU', 'Processor time per second; 1 is one core.'], 'short', {
      '{{instance}}': rate('process_cpu_seconds_total', 'instance'),
    }),
    graph(['Memory', 'Resident memory of the process.'], 'bytes', {
      '{{instance}}': series('process_resident_memory_bytes'),
    }),
  ],
};

const payments: DashboardSource = {
  name: 'payments',
  title: 'payments',
  description: 'Sales, operations that follow a sale, reversals and QR payments.',
  panels: [
    saleOutcomes,
    graph(
      ['Approved sales', 'Share of the sales that the acquirer approved, by link.'],
      'percentunit',
      {
        '{{name}}': withLinkName(
          `${rate('switchyard_sales_total', 'link', 'outcome="Approved"')} / ${rate('switchyard_sales_total', 'link')}`,
        ),
      },
    ),
    saleDuration,
    graph(
      ['Responses to sales', 'By HTTP status. Clients can repeat a sale after status 503.'],
      'reqps',
      {
        '{{status}}': rate(`${requestDuration}_count`, 'status', sale),
      },
    ),
    graph(['Messages to acquirers', 'By kind of message.'], 'reqps', {
      '{{kind}}': rate(`${acquirerDuration}_count`, 'kind'),
    }),
    graph(
      [
        'Duration of reversals',
        'From the decision to reverse a sale until the acquirer has accepted it.',
      ],
      's',
      {
        median: percentile(0.5, 'switchyard_reversal_duration_seconds', ''),
        p99: percentile(0.99, 'switchyard_reversal_duration_seconds', ''),
      },
    ),
    graph(
      ['Waiting reversals', 'Reversals that the acquirer has not accepted yet, by link.'],
      'short',
      {
        '{{name}}': linkGauge('switchyard_acquirer_queue_reversals'),
      },
    ),
    graph(['Age of the oldest reversal', 'Above 300 seconds the alert ReversalOld fires.'], 's', {
      '{{name}}': linkGauge('switchyard_acquirer_queue_oldest_reversal_seconds'),
    }),
    graph(['QR payments by outcome', 'Payments that have ended.'], 'reqps', {
      '{{outcome}}': rate('switchyard_qr_payments_total', 'outcome'),
    }),
    graph(['QR payments in manual review', 'Decide them in the portal.'], 'short', {
      payments: `max(${series('switchyard_qr_manual_review')})`,
    }),
    graph(['Calls to providers of QR payments', 'By call and outcome.'], 'reqps', {
      '{{call}} {{outcome}}': rate('switchyard_provider_calls_total', 'call, outcome'),
    }),
    graph(['Response time of providers', 'The 99th percentile, by call.'], 's', {
      '{{call}}': percentile(0.99, 'switchyard_provider_call_duration_seconds', 'call, '),
    }),
  ],
};

const acquirerLinks: DashboardSource = {
  name: 'acquirer-links',
  title: 'acquirer links',
  description: 'Connections to acquirers: availability, response times, queues and clearing files.',
  panels: [
    graph(['Link up', '1 while the link can send messages.'], 'short', {
      '{{name}}': `max by (link, name) (${series('switchyard_acquirer_link_up')})`,
    }),
    graph(
      ['Messages by link', 'Messages that were sent or refused, by link and outcome.'],
      'reqps',
      {
        '{{name}} {{outcome}}': withLinkName(rate(`${acquirerDuration}_count`, 'link, outcome')),
      },
    ),
    graph(['Median response time', 'From sending a message to its outcome.'], 's', {
      '{{name}}': withLinkName(percentile(0.5, acquirerDuration, 'link, ')),
    }),
    graph(['99th percentile of the response time', 'From sending a message to its outcome.'], 's', {
      '{{name}}': withLinkName(percentile(0.99, acquirerDuration, 'link, ')),
    }),
    graph(
      ['Queue length', 'Reversals, captures, refunds and offline sales without an answer.'],
      'short',
      {
        '{{name}}': linkGauge('switchyard_acquirer_queue_length'),
      },
    ),
    graph(['Oldest message', 'Age of the oldest message in the queue.'], 's', {
      '{{name}}': linkGauge('switchyard_acquirer_queue_oldest_seconds'),
    }),
    graph(
      ['Stuck messages', 'Messages without an answer after six attempts. Each needs a decision.'],
      'short',
      {
        '{{name}}': linkGauge('switchyard_acquirer_queue_stuck_messages'),
      },
    ),
    graph(
      [
        'Errors of the host table',
        'Messages that the table cannot encode, and response codes that it does not contain.',
      ],
      'reqps',
      {
        '{{name}} unencodable': withLinkName(
          rate('switchyard_acquirer_unencodable_messages_total', 'link'),
        ),
        '{{name}} unknown code': withLinkName(
          rate('switchyard_acquirer_unknown_codes_total', 'link'),
        ),
      },
    ),
    graph(['Clearing files without an acknowledgement', 'By link.'], 'short', {
      '{{name}}': linkGauge('switchyard_clearing_files_unacknowledged'),
    }),
    graph(
      ['Age of the oldest clearing file', 'Above 86,400 seconds (a day) an alert fires.'],
      's',
      {
        '{{name}}': linkGauge('switchyard_clearing_files_oldest_seconds'),
      },
    ),
    graph(
      [
        'Captures in no clearing file',
        'Captures of past settlement days that should be in a file.',
      ],
      'short',
      {
        '{{name}}': linkGauge('switchyard_clearing_lines_due'),
      },
    ),
  ],
};

const connector: DashboardSource = {
  name: 'connector',
  title: 'Cloud Connector',
  description: 'Terminals and points of sale that are connected, and the messages between them.',
  panels: [
    graph(['Sessions', 'Sessions with terminals, by process.'], 'short', {
      '{{instance}}': series('switchyard_connector_sessions'),
    }),
    graph(['Connections', 'Open WebSockets, by kind.'], 'short', {
      '{{kind}}': `sum by (kind) (${series('switchyard_connector_connections')})`,
    }),
    graph(['Claims', 'Terminals that a point of sale has reserved.'], 'short', {
      '{{instance}}': series('switchyard_connector_claims'),
    }),
    graph(['Closed connections', 'By kind and close code of the WebSocket.'], 'reqps', {
      '{{kind}} {{code}}': rate('switchyard_connector_connections_closed_total', 'kind, code'),
    }),
    graph(['Messages', 'Forwarded messages, by receiver.'], 'reqps', {
      'to {{to}}': rate('switchyard_connector_messages_total', 'to'),
    }),
    graph(['Bytes', 'Size of the forwarded messages, by receiver.'], 'Bps', {
      'to {{to}}': rate('switchyard_connector_bytes_total', 'to'),
    }),
    graph(['Errors', 'Failed operations, by the error code that the client received.'], 'reqps', {
      '{{code}}': rate('switchyard_connector_errors_total', 'code'),
    }),
    graph(
      ['Dropped messages', 'Messages of terminals while no point of sale was connected.'],
      'reqps',
      {
        '{{instance}}': rate('switchyard_connector_messages_dropped_total', 'instance'),
      },
    ),
    graph(
      ['NATS', '1 while the process is connected. Without SWITCHYARD_NATS_URL there is no value.'],
      'short',
      {
        '{{instance}}': series('switchyard_connector_nats_up'),
      },
    ),
    graph(
      [
        'Sessions between processes',
        'Sessions whose terminal and point of sale are on two processes.',
      ],
      'short',
      {
        '{{instance}}': series('switchyard_connector_remote_sessions'),
      },
    ),
  ],
};

const database: DashboardSource = {
  name: 'database',
  title: 'database',
  description: 'Connections to PostgreSQL, batches of rows, background jobs and events.',
  panels: [
    graph(['Database up', '1 if the process reaches PostgreSQL.'], 'short', {
      '{{instance}}': series('switchyard_database_up'),
    }),
    graph(['Connections in use', 'Share of the connections of the pool.'], 'percentunit', {
      '{{instance}} {{pool}}': `${series('switchyard_database_pool_connections_in_use')} / ${series('switchyard_database_pool_connections_max')}`,
    }),
    graph(
      [
        'Waiting for a connection',
        'If statements wait for minutes, give the pool more connections.',
      ],
      'short',
      {
        '{{instance}} {{pool}}': series('switchyard_database_pool_requests_waiting'),
      },
    ),
    graph(
      ['Batches', 'The server writes and reads rows that arrive together in one batch.'],
      'reqps',
      {
        '{{batch}}': rate('switchyard_database_batches_total', 'batch'),
      },
    ),
    graph(['Rows per batch', 'More rows in a batch cost the database less per row.'], 'short', {
      '{{batch}}': `${rate('switchyard_database_batch_rows_total', 'batch')} / ${rate('switchyard_database_batches_total', 'batch')}`,
    }),
    graph(['Jobs', 'Attempts of background jobs, by kind and outcome.'], 'reqps', {
      '{{kind}} {{outcome}}': rate('switchyard_jobs_total', 'kind, outcome'),
    }),
    graph(['Late jobs', 'Time by which the oldest due job is late.'], 's', {
      late: `max(${series('switchyard_jobs_oldest_due_seconds')})`,
    }),
    graph(['Published events', 'Rows of the outbox, by kind of event.'], 'reqps', {
      '{{kind}}': rate('switchyard_outbox_rows_published_total', 'kind'),
    }),
    eventDelay,
    graph(['Delay of reports', 'Time by which the reports are behind the payments.'], 's', {
      '{{instance}}': series('switchyard_reports_lag_seconds'),
    }),
  ],
};

const webhooks: DashboardSource = {
  name: 'webhooks',
  title: 'webhooks',
  description: 'Delivery of events to the endpoints of merchants and partners.',
  panels: [
    graph(['Attempts by outcome', 'Delivered: the endpoint accepted the event.'], 'reqps', {
      '{{outcome}}': rate('switchyard_webhook_attempts_total', 'outcome'),
    }),
    graph(['Delivery time', 'Deliveries that succeed at the first attempt.'], 's', {
      median: percentile(0.5, 'switchyard_webhook_delivery_delay_seconds', ''),
      p99: percentile(0.99, 'switchyard_webhook_delivery_delay_seconds', ''),
    }),
    graph(
      [
        'Late deliveries',
        'Time by which the oldest delivery is late. Endpoints that fail are not counted.',
      ],
      's',
      {
        late: `max(${series('switchyard_webhook_oldest_due_seconds')})`,
      },
    ),
    graph(['Open calls', 'Calls to endpoints that have not answered yet.'], 'short', {
      '{{instance}}': series('switchyard_webhook_calls_in_flight'),
    }),
    graph(
      [
        'Disabled endpoints',
        'Endpoints that the platform disabled after failures, in the last day.',
      ],
      'short',
      {
        '{{reason}}': `sum by (reason) (increase(${series('switchyard_webhook_endpoints_disabled_total')}[1d]))`,
      },
    ),
    graph(['New events', 'Events that were added to the feeds.'], 'reqps', {
      events: rate('switchyard_events_published_total', ''),
    }),
    eventDelay,
    graph(['Event streams', 'Open streams and waiting long polls.'], 'short', {
      streams: `sum(${series('switchyard_streams_open')})`,
      'long polls': `sum(${series('switchyard_streams_long_polls_open')})`,
    }),
  ],
};

export const dashboards = [overview, payments, acquirerLinks, connector, database, webhooks];

/** The JSON document that Grafana imports. */
export const dashboardText = (source: DashboardSource): string =>
  `${JSON.stringify(buildDashboard(source), null, 2)}\n`;

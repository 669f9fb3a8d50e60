// Panels of the Grafana dashboards, and the PromQL expressions that they share.
import { VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  type DataSourceRef,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as GraphBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** The unit of Grafana that its values have. */
type Unit = 'short' | 's' | 'reqps' | 'percentunit' | 'bytes' | 'Bps';

export type Panel = {
  readonly kind: 'stat' | 'graph';
  readonly title: string;
  /** What the reader sees, and which value needs attention. */
  readonly description: string;
  readonly unit: Unit;
  /** PromQL by its legend. */
  readonly queries: Readonly<Record<string, string>>;
};

export type DashboardSource = {
  /** Name of the file, and end of the uid. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly panels: readonly Panel[];
};

type PanelText = readonly [title: string, description: string];

/** The current value. */
export const stat = (
  [title, description]: PanelText,
  unit: Unit,
  queries: Panel['queries'],
): Panel => ({ kind: 'stat', title, description, unit, queries });

/** Values over time. */
export const graph = (
  [title, description]: PanelText,
  unit: Unit,
  queries: Panel['queries'],
): Panel => ({ kind: 'graph', title, description, unit, queries });

/** The series of the selected processes. */
export const series = (metric: string, ...matchers: string[]): string =>
  `${metric}{${['instance=~"$instance"', ...matchers].join(', ')}}`;

/** Events per second, summed by these labels. */
export const rate = (metric: string, labels: string, ...matchers: string[]): string =>
  `sum by (${labels}) (rate(${series(metric, ...matchers)}[$__rate_interval]))`;

/** A percentile of a histogram, by these labels. */
export const percentile = (
  share: number,
  histogram: string,
  labels: string,
  ...matchers: string[]
): string =>
  `histogram_quantile(${share}, ${rate(`${histogram}_bucket`, `${labels}le`, ...matchers)})`;

/** Adds the name of the acquirer link to series that have only its identifier. */
export const withLinkName = (expression: string): string =>
  `(${expression}) * on (link) group_left (name) (max by (link, name) (switchyard_acquirer_link_up) >= bool 0)`;

/** A gauge of an acquirer link: each process reports the same value. */
export const linkGauge = (metric: string): string =>
  withLinkName(`max by (link) (${series(metric)})`);

const datasourceVariable = 'datasource';
const datasource: DataSourceRef = { type: 'prometheus', uid: `\${${datasourceVariable}}` };

const firstRefId = 'A'.charCodeAt(0);

/** Two graphs or six values in a row of 24 columns. */
const sizes = { stat: { span: 4, height: 4 }, graph: { span: 12, height: 8 } } as const;

function buildPanel({ kind, title, description, unit, queries }: Panel) {
  const builder =
    kind === 'stat'
      ? new StatBuilder()
      : new GraphBuilder().min(0).legend(new VizLegendOptionsBuilder().showLegend(true));
  const { span, height } = sizes[kind];
  builder
    .title(title)
    .description(description)
    .unit(unit)
    .datasource(datasource)
    .span(span)
    .height(height);
  for (const [index, [legend, expression]] of Object.entries(queries).entries())
    builder.withTarget(
      new DataqueryBuilder()
        .refId(String.fromCharCode(firstRefId + index))
        .expr(expression)
        .legendFormat(legend)
        .range(),
    );
  return builder;
}

export function buildDashboard({ name, title, description, panels }: DashboardSource): Dashboard {
  const builder = new DashboardBuilder(`Switchyard: ${title}`)
    .uid(`switchyard-${name}`)
    .description(description)
    .tags(['switchyard'])
    .timezone('browser')
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .withVariable(
      new DatasourceVariableBuilder(datasourceVariable).label('Data source').type('prometheus'),
    )
    .withVariable(
      new QueryVariableBuilder('instance')
        .label('Process')
        .datasource(datasource)
        .query('label_values(up{job="switchyard"}, instance)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .multi(true)
        .includeAll(true)
        .allValue('.*'),
    );
  for (const panel of panels) builder.withPanel(buildPanel(panel));
  return builder.build();
}

/** Charts of the figures by day, or by hour for one day. */
import type { Summary, SummaryLine } from '@switchyard/contract';
import { exponentOf } from '@switchyard/money';
import { Chart, Ranking } from '../../charts/chart.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { subtractDays } from '../../session/locale-formats.ts';
import { useFormats } from '../../session/use-session.ts';
import { minorAmountOf } from './read-summary.ts';
import './analytics.css';

const maxReasons = 8;
const hours = Array.from({ length: 24 }, (_, hour) => hour);

/** The chart also contains days without payments, which the summary omits. */
function daysOf({ from, to }: Summary): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < 400; day = subtractDays(day, -1)) days.push(day);
  return days;
}

export function OverTime({
  data,
  isOneDay,
  currency,
}: {
  readonly data: Summary;
  readonly isOneDay: boolean;
  readonly currency: string;
}) {
  const t = useTranslate('analytics');
  const formats = useFormats();
  const days = daysOf(data);
  const lines: readonly (SummaryLine | undefined)[] = isOneDay
    ? hours.map((hour) => data.items.find((item) => item.hour === hour))
    : days.map((day) => data.items.find((item) => item.day === day));
  const labels = isOneDay ? hours.map((hour) => `${hour}:00`) : days.map(shortDay(formats.locale));
  const shared = { labels, labelHeader: t(isOneDay ? 'hour' : 'day') };
  const unit = 10 ** exponentOf(currency);
  const volumes = lines.map((line) => Number(minorAmountOf(line, currency, 'captured')) / unit);
  const compactNumber = (value: number) =>
    formats.number(value, { notation: 'compact', maximumFractionDigits: 1 });
  const ms = (value: number) => `${formats.number(Math.round(value))} ms`;
  return (
    <div className="sy-charts">
      <Panel title={t('volumeOf', { currency })}>
        <Chart
          {...shared}
          title={t('volumeOf', { currency })}
          kind="bars"
          series={[{ name: t('captured'), values: volumes }]}
          format={compactNumber}
        />
      </Panel>
      <Panel title={t('approvalRate')}>
        <Chart
          {...shared}
          title={t('approvalRate')}
          kind="lines"
          top={1}
          series={[
            {
              name: t('approvalRate'),
              values: lines.map((line) => line?.approvalRate ?? undefined),
            },
          ]}
          format={formats.percent}
        />
      </Panel>
      <Panel title={t('latency')}>
        <Chart
          {...shared}
          title={t('latency')}
          kind="lines"
          series={[
            { name: t('p50'), values: lines.map((line) => line?.latency?.p50Ms) },
            { name: t('p95'), values: lines.map((line) => line?.latency?.p95Ms) },
          ]}
          format={ms}
        />
      </Panel>
      <Reasons reasons={data.total.declineReasons.slice(0, maxReasons)} />
    </div>
  );
}

function Reasons({ reasons }: { readonly reasons: Summary['total']['declineReasons'] }) {
  const t = useTranslate('analytics');
  const formats = useFormats();
  return (
    <Panel title={t('declineReasons')}>
      {reasons.length === 0 ? (
        <EmptyState icon="check" title={t('noDeclines')} />
      ) : (
        <Ranking
          items={reasons.map(({ reason, count }) => ({ name: reason, value: count }))}
          format={(value) => formats.number(value)}
        />
      )}
    </Panel>
  );
}

function shortDay(locale: string): (day: string) => string {
  const format = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });
  return (day) => format.format(Date.parse(`${day}T00:00:00Z`));
}

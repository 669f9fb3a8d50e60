/** The analytics screen: volume, approval rate, decline reasons and response time of a period. */

import { Select } from '@mantine/core';
import type { Summary } from '@switchyard/contract';
import { KeyFigures } from '../../charts/key-figures.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { validDay } from '../../filters/day-range-query.ts';
import { FilterBar, type FilterField } from '../../filters/filter-bar.tsx';
import { type FilterValues, useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { subtractDays } from '../../session/locale-formats.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { Breakdown } from './breakdown.tsx';
import { OverTime } from './over-time.tsx';
import { minorAmountOf, useSummary } from './read-summary.ts';

const names = ['from', 'to', 'merchantId', 'storeId', 'kind', 'currency', 'by'] as const;
type Name = (typeof names)[number];

function useFields(t: Translate): FilterField<Name>[] {
  const { merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const stores = useEntityNames('stores').data;
  const toOptions = (names: ReadonlyMap<string, string> | undefined) =>
    [...(names ?? [])].map(([value, label]) => ({ value, label }));
  const merchant = {
    kind: 'choice',
    name: 'merchantId',
    label: t('merchant'),
    options: toOptions(merchants),
  } as const;
  return [
    { kind: 'period', from: 'from', to: 'to', label: t('period') },
    ...(merchantId === undefined ? [merchant] : []),
    { kind: 'choice', name: 'storeId', label: t('store'), options: toOptions(stores) },
    {
      kind: 'choice',
      name: 'kind',
      label: t('kind'),
      options: [
        { value: 'Card', label: t('kinds.Card') },
        { value: 'Qr', label: t('kinds.Qr') },
      ],
    },
  ];
}

function dayQuery(values: FilterValues<Name>, today: string) {
  const { merchantId, storeId, kind } = values;
  const to = validDay(values.to) ?? today;
  const from = validDay(values.from) ?? subtractDays(to, 29);
  // ISO days sort as texts.
  return { from: [from, to].sort()[0] ?? to, to, merchantId, storeId, kind };
}

export default function Analytics() {
  const t = useTranslate('analytics');
  const formats = useFormats();
  const [values, change] = useFilters(names);
  const fields = useFields(t);
  const query = dayQuery(values, formats.dayOf(nowMs()));
  const isOneDay = query.from === query.to;
  const summary = useSummary({ ...query, groupBy: isOneDay ? 'hour' : 'day' });
  const { data, error, refetch } = summary;
  const effectiveValues = { ...values, from: query.from, to: query.to };
  return (
    <Page
      title={t('title')}
      lead={data && t('asOf', { time: formats.time(data.asOf) })}
      actions={
        data !== undefined && (
          <CurrencyChoice
            data={data}
            value={currencyOf(data, values.currency)}
            onChange={(currency) => change({ currency })}
          />
        )
      }
    >
      <FilterBar
        fields={fields}
        values={effectiveValues}
        chosenValues={values}
        onChange={change}
        views="analytics"
      />
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={12} />}
      {data !== undefined && (
        <Content
          data={data}
          isOneDay={isOneDay}
          currency={currencyOf(data, values.currency)}
          query={query}
          grouping={values.by}
          onBy={(by) => change({ by })}
        />
      )}
    </Page>
  );
}

/** The chosen currency, otherwise the currency of the first total. */
function currencyOf({ total }: Summary, chosen: string | undefined): string {
  const currencies = total.amounts.map(({ currency }) => currency);
  return currencies.find((each) => each === chosen) ?? currencies[0] ?? 'EUR';
}

function CurrencyChoice({
  data: { total },
  value,
  onChange,
}: {
  readonly data: Summary;
  readonly value: string;
  readonly onChange: (currency: string) => void;
}) {
  const t = useTranslate('analytics');
  if (total.amounts.length < 2) return null;
  return (
    <Select
      w={110}
      aria-label={t('currency')}
      data={total.amounts.map(({ currency }) => currency)}
      value={value}
      allowDeselect={false}
      onChange={(next) => onChange(next ?? value)}
    />
  );
}

function Content({
  data,
  isOneDay,
  currency,
  query,
  grouping,
  onBy,
}: {
  readonly data: Summary;
  readonly isOneDay: boolean;
  readonly currency: string;
  readonly query: ReturnType<typeof dayQuery>;
  readonly grouping: string | undefined;
  readonly onBy: (grouping: string) => void;
}) {
  const t = useTranslate('analytics');
  const formats = useFormats();
  const { total } = data;
  if (total.count === 0 && total.amounts.length === 0) {
    return (
      <Panel>
        <EmptyState icon="analytics" title={t('empty.title')}>
          {t('empty.text')}
        </EmptyState>
      </Panel>
    );
  }
  const net = minorAmountOf(total, currency, 'net');
  const refunded = minorAmountOf(total, currency, 'refunded');
  return (
    <>
      <KeyFigures
        items={[
          {
            label: t('net'),
            value: formats.money(net, currency),
            note: t('refundedNote', { amount: formats.money(refunded, currency) }),
          },
          {
            label: t('payments'),
            value: formats.number(total.count),
            note: t('declinedNote', { count: total.declined, failed: total.failed }),
          },
          {
            label: t('approvalRate'),
            value: total.approvalRate === null ? '–' : formats.percent(total.approvalRate),
            note: t('approvedNote', { count: total.approved }),
          },
          {
            label: t('latency'),
            value: total.latency === null ? '–' : `${formats.number(total.latency.p50Ms)} ms`,
            note:
              total.latency === null
                ? undefined
                : t('latencyNote', { ms: formats.number(total.latency.p95Ms) }),
          },
        ]}
      />
      <OverTime data={data} isOneDay={isOneDay} currency={currency} />
      <Breakdown query={query} currency={currency} grouping={grouping} onBy={onBy} />
    </>
  );
}

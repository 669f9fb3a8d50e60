/** The list of settlements by acquirer, merchant and day. */
import type { Settlement } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { Money } from '../../components/values/values.tsx';
import type { FilterField } from '../../filters/filter-bar.tsx';
import { nameOptions, plainOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { nameColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'JPY', 'INR', 'KWD'];

function columnsOf(
  t: Translate,
  day: (day: string) => string,
  hasLinks: boolean,
): Column<Settlement>[] {
  const sum = (id: 'captures' | 'refunds' | 'pending'): Column<Settlement> => ({
    header: t(id),
    align: 'end',
    cell: ({ currency, [id]: { amount, count } }) => (
      <span title={t('count', { count })}>
        <Money amount={BigInt(amount)} currency={currency} />
      </span>
    ),
  });
  const link = nameColumn<Settlement>(
    t('acquirer'),
    'acquirer-links',
    ({ acquirerLinkId }) => acquirerLinkId,
  );
  return [
    {
      header: t('day'),
      width: '8.5rem',
      cardPosition: 'lead',
      cell: (settlement) => day(settlement.day),
    },
    nameColumn(t('merchant'), 'merchants', ({ merchantId }) => merchantId, 'sub'),
    ...(hasLinks ? [link] : []),
    sum('captures'),
    sum('refunds'),
    sum('pending'),
    {
      header: t('net'),
      align: 'end',
      cardPosition: 'trail',
      cell: ({ net, currency }) => (
        <strong>
          <Money amount={BigInt(net)} currency={currency} />
        </strong>
      ),
    },
  ];
}

export default function Settlements() {
  const t = useTranslate('settlements');
  const formats = useFormats();
  const isOfOrganization = useSession().merchantId === undefined;
  const merchants = useEntityNames('merchants', isOfOrganization).data;
  const links = useEntityNames('acquirer-links').data;
  const owners: FilterField<string>[] = [
    { kind: 'choice', name: 'merchantId', label: t('merchant'), options: nameOptions(merchants) },
    { kind: 'choice', name: 'acquirerLinkId', label: t('acquirer'), options: nameOptions(links) },
  ];
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <ResourceList
        label={t('title')}
        name="settlements"
        path="/reporting/v1/settlements"
        filters={[
          { kind: 'period', from: 'from', to: 'to', label: t('period') },
          ...(isOfOrganization ? owners : []),
          {
            kind: 'choice',
            name: 'currency',
            label: t('currency'),
            options: plainOptions(currencies),
          },
        ]}
        views="settlements"
        columns={columnsOf(t, formats.day, isOfOrganization)}
        rowKey={({ settlementId }) => settlementId}
        rowTo={({ settlementId }) => `/settlements/${settlementId}`}
        empty={{ icon: 'settlements', title: t('empty.title'), text: t('empty.text') }}
      />
    </Page>
  );
}

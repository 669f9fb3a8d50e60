/** The merchants of the organisation. */
import type { Merchant } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { type Translate, useLanguage, useTranslate } from '../../locales/index.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { countryName } from '../estate/countries-and-time-zones.ts';
import { addresses } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';

function columnsOf(t: Translate, language: string): Column<Merchant>[] {
  return [
    {
      id: 'name',
      header: t('fields.name'),
      narrow: 'lead',
      cell: ({ name }) => <Name>{name}</Name>,
    },
    {
      id: 'externalId',
      header: t('fields.externalId'),
      cell: ({ externalId }) => <Name>{externalId}</Name>,
    },
    {
      id: 'country',
      header: t('fields.country'),
      cell: ({ country }) => <Name>{countryName(country, language)}</Name>,
    },
    {
      id: 'city',
      header: t('fields.address.city'),
      narrow: 'sub',
      cell: ({ address, country }) => (
        <Name>{address?.city ?? countryName(country, language)}</Name>
      ),
    },
    { id: 'mcc', header: t('fields.mccShort'), width: '6rem', cell: ({ mcc }) => mcc },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ];
}

export default function Merchants() {
  const t = useTranslate('estate');
  const language = useLanguage();
  const { merchantId } = useSession();
  const mayMake = useCan('prov.write') && merchantId === undefined;
  return (
    <Page
      title={t('kinds.merchant.many')}
      {...(mayMake ? { actions: <NewButton kind="merchant" to="/merchants/new" /> } : {})}
      fill
    >
      <EstateList<Merchant>
        kind="merchant"
        address={addresses.merchants}
        icon="merchants"
        columns={columnsOf(t, language)}
        rowKey={(row) => row.merchantId}
        rowTo={(row) => `/merchants/${row.merchantId}`}
        views="merchants"
      />
    </Page>
  );
}

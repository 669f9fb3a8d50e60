/** The list of merchants of the organisation. */
import type { Merchant } from '@switchyard/contract';
import { Page } from '../../components/layout/page.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useLanguage, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { countryName } from '../estate/countries-and-time-zones.ts';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';

function columnsOf(t: Translate, language: string): Column<Merchant>[] {
  return [
    {
      id: 'name',
      header: t('fields.name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'externalId',
      header: t('fields.externalId'),
      cell: ({ externalId }) => <TruncatedName>{externalId}</TruncatedName>,
    },
    {
      id: 'country',
      header: t('fields.country'),
      cell: ({ country }) => <TruncatedName>{countryName(country, language)}</TruncatedName>,
    },
    {
      id: 'city',
      header: t('fields.address.city'),
      cardPosition: 'sub',
      cell: ({ address, country }) => (
        <TruncatedName>{address?.city ?? countryName(country, language)}</TruncatedName>
      ),
    },
    { id: 'mcc', header: t('fields.mccShort'), width: '6rem', cell: ({ mcc }) => mcc },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
  ];
}

export default function Merchants() {
  const t = useTranslate('estate');
  const language = useLanguage();
  const { merchantId } = useSession();
  const mayMake = useHasPermission('prov.write') && merchantId === undefined;
  return (
    <Page
      title={t('kinds.merchant.many')}
      {...(mayMake ? { actions: <NewButton kind="merchant" to="/merchants/new" /> } : {})}
      fill
    >
      <EstateList<Merchant>
        kind="merchant"
        address={estateApiUrls.merchants}
        icon="merchants"
        columns={columnsOf(t, language)}
        rowKey={(row) => row.merchantId}
        rowTo={(row) => `/merchants/${row.merchantId}`}
        views="merchants"
      />
    </Page>
  );
}

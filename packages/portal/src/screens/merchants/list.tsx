/** The list of merchants of the organisation. */
import type { Merchant } from '@switchyard/contract';
import { countryName } from '../../components/forms/countries-and-time-zones.ts';
import { Page } from '../../components/layout/page.tsx';
import { useLanguage, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';

export default function Merchants() {
  const t = useTranslate('estate');
  const language = useLanguage();
  const isOfOrganization = useSession().merchantId === undefined;
  const mayMake = useHasPermission('prov.write') && isOfOrganization;
  return (
    <Page
      title={t('kinds.merchant.many')}
      actions={mayMake && <NewButton kind="merchant" to="/merchants/new" />}
      fill
    >
      <EstateList<Merchant>
        kind="merchant"
        path={estateApiUrls.merchants}
        icon="merchants"
        columns={[
          textColumn(t('fields.name'), ({ name }) => name, 'lead'),
          textColumn(t('fields.externalId'), ({ externalId }) => externalId),
          textColumn(t('fields.country'), ({ country }) => countryName(country, language)),
          textColumn(
            t('fields.address.city'),
            ({ address, country }) => address?.city ?? countryName(country, language),
            'sub',
          ),
          { header: t('fields.mccShort'), width: '6rem', cell: ({ mcc }) => mcc },
          timeColumn(t('created'), ({ createdAt }) => createdAt),
        ]}
        rowKey={({ merchantId }) => merchantId}
        rowTo={({ merchantId }) => `/merchants/${merchantId}`}
        views="merchants"
      />
    </Page>
  );
}

/** The page of a merchant: profile, stores, devices, contracts, users and settings. */
import type { AcquirerContract, Merchant } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { countryName } from '../../components/forms/countries-and-time-zones.ts';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { useLanguage, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { nameColumn, textColumn } from '../../table/columns.tsx';
import { DeviceCountsPanel } from '../devices/device-counts.tsx';
import { DeviceList } from '../devices/list.tsx';
import {
  type DetailTab,
  LabelList,
  PageTabs,
  PostalAddress,
  StatusBadge,
  useCommonDetails,
  useTab,
} from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import { EstateList } from '../estate/estate-list.tsx';
import { NewButton } from '../estate/new-button.tsx';
import { ServiceOverview, useCanReadConfiguration } from '../estate/service-overview.tsx';
import { StoreList } from '../stores/list.tsx';
import { UsersTable } from '../users/users-table.tsx';

const lists = new Set(['stores', 'devices', 'contracts', 'people']);

function useTabs(merchant: Merchant | undefined): DetailTab[] {
  const t = useTranslate('estate');
  const maySeePeople = useHasPermission('um.read');
  const maySeeSettings = useCanReadConfiguration();
  if (merchant === undefined) return [];
  const { merchantId } = merchant;
  const tab = (name: string, content: DetailTab['content']): DetailTab => ({
    name,
    label: t(`tabs.${name}`),
    content,
  });
  return [
    tab('data', <MerchantProfile merchant={merchant} />),
    tab('stores', <StoreList merchantId={merchantId} />),
    tab('devices', <DeviceList merchantId={merchantId} />),
    tab('contracts', <ContractList merchantId={merchantId} />),
    ...(maySeePeople ? [tab('people', <UsersTable merchantId={merchantId} />)] : []),
    ...(maySeeSettings
      ? [tab('settings', <ServiceOverview level="merchants" entityId={merchantId} />)]
      : []),
  ];
}

export default function MerchantPage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const merchantId = usePathParam('merchantId');
  const address = estateApiUrls.merchant(merchantId);
  const query = useVersionedEntity<Merchant>(address);
  const mayWrite = useHasPermission('prov.write');
  const isOfOrganization = useSession().merchantId === undefined;
  const tabs = useTabs(query.data?.body);
  const [open, onOpen] = useTab(tabs.map(({ name }) => name));
  const backLink = { to: '/merchants', label: t('kinds.merchant.many') };
  if (query.data === undefined) {
    return <PendingPage query={query} title={t('kinds.merchant.one')} backLink={backLink} />;
  }
  const { name, status } = query.data.body;
  return (
    <Page
      title={name}
      aside={<StatusBadge status={status} />}
      backLink={backLink}
      fill={lists.has(open)}
      actions={
        <EntityActions
          kind="merchant"
          address={address}
          versioned={query.data}
          editTo={`/merchants/${merchantId}/edit`}
          mayWrite={mayWrite}
          mayDelete={mayWrite && isOfOrganization}
          onDeleted={() => void navigate({ to: '/merchants' })}
        >
          {mayWrite && open === 'stores' && (
            <NewButton kind="store" to="/stores/new" search={{ merchantId }} />
          )}
          {mayWrite && isOfOrganization && open === 'contracts' && (
            <NewButton kind="contract" to={`/merchants/${merchantId}/contracts/new`} />
          )}
        </EntityActions>
      }
    >
      <PageTabs label={name} tabs={tabs} open={open} onOpen={onOpen} />
    </Page>
  );
}

function ContractList({ merchantId }: { readonly merchantId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<AcquirerContract>
      kind="contract"
      path={estateApiUrls.contracts(merchantId)}
      icon="link"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        nameColumn(t('fields.acquirerLink'), 'acquirer-links', ({ acquirerLink }) => acquirerLink),
        textColumn(
          t('fields.acquirerMerchantId'),
          ({ acquirerMerchantId }) => acquirerMerchantId,
          'sub',
        ),
        textColumn(t('fields.terminals'), ({ terminalIdRange: { from, to } }) => `${from} – ${to}`),
        textColumn(t('fields.currencies'), ({ currencies }) => currencies.join(', ')),
        {
          header: t('fields.defaultCaptureMode'),
          width: '9rem',
          cell: ({ defaultCaptureMode }) => t(`options.${defaultCaptureMode}`),
        },
      ]}
      rowKey={({ contractId }) => contractId}
      rowTo={({ contractId }) => `/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}

function MerchantProfile({ merchant }: { readonly merchant: Merchant }) {
  const t = useTranslate('estate');
  const language = useLanguage();
  const common = useCommonDetails(merchant.merchantId, merchant);
  return (
    <>
      <DeviceCountsPanel
        merchantId={merchant.merchantId}
        to={`/merchants/${merchant.merchantId}`}
        search={{ tab: 'devices' }}
      />
      <div className="sy-columns">
        <div className="sy-column">
          <Panel title={t('sections.merchant')}>
            <DescriptionList
              items={[
                [t('fields.country'), countryName(merchant.country, language)],
                [t('fields.mcc'), merchant.mcc],
                [t('fields.timeZone'), merchant.timeZone],
                ...common,
              ]}
            />
          </Panel>
          <LabelList labels={merchant.labels} />
        </div>
        <div className="sy-column">
          <Panel title={t('sections.contact')}>
            <DescriptionList
              items={[
                [
                  t('sections.address'),
                  merchant.address && <PostalAddress key="address" address={merchant.address} />,
                ],
                [t('fields.contact.name'), merchant.contact?.name],
                [
                  t('fields.contact.email'),
                  merchant.contact?.email && (
                    <a key="mail" className="sy-link" href={`mailto:${merchant.contact.email}`}>
                      {merchant.contact.email}
                    </a>
                  ),
                ],
                [
                  t('fields.contact.phone'),
                  merchant.contact?.phone && (
                    <a key="phone" className="sy-link" href={`tel:${merchant.contact.phone}`}>
                      {merchant.contact.phone}
                    </a>
                  ),
                ],
              ]}
            />
            {merchant.address === undefined && merchant.contact === undefined && (
              <p className="sy-nothing">{t('noContact')}</p>
            )}
          </Panel>
        </div>
      </div>
    </>
  );
}

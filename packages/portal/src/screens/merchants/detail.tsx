/** The page of a merchant: profile, stores, devices, contracts, users and settings. */
import type { Merchant } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { Page } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { DeviceList } from '../devices/device-list.tsx';
import { PageTabs, StatusBadge, type Tab, useTab } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import { NewButton } from '../estate/new-button.tsx';
import { ServiceOverview, useCanReadConfiguration } from '../estate/service-overview.tsx';
import { StoreList } from '../stores/store-list.tsx';
import { UsersTable } from '../users/users-table.tsx';
import { ContractList } from './contract-list.tsx';
import { MerchantProfile } from './merchant-profile.tsx';

const lists = new Set(['stores', 'devices', 'contracts', 'people']);

function useTabs(merchant: Merchant | undefined): Tab[] {
  const t = useTranslate('estate');
  const maySeePeople = useHasPermission('um.read');
  const maySeeSettings = useCanReadConfiguration();
  if (merchant === undefined) return [];
  const { merchantId } = merchant;
  const tab = (name: string, content: Tab['content']): Tab => ({
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

/** One merchant: what it is, its stores, devices, contracts, people and settings. */
import type { Merchant } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useParam } from '../../app/url-params.ts';
import { Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import { Fleet } from '../devices/device-list.tsx';
import { PageInWait, PageTabs, StatusBadge, type Tab, useTab } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { NewButton } from '../estate/new-button.tsx';
import { ServiceSettings, useMaySeeSettings } from '../estate/service-overview.tsx';
import { useVersioned } from '../estate/versioned-entities.ts';
import { StoreList } from '../stores/store-list.tsx';
import { Contracts } from './contract-list.tsx';
import { MerchantProfile } from './merchant-profile.tsx';
import { MerchantPeople } from './merchant-users.tsx';

const lists = new Set(['stores', 'devices', 'contracts', 'people']);

function useTabs(merchant: Merchant | undefined): Tab[] {
  const t = useTranslate('estate');
  const maySeePeople = useCan('um.read');
  const maySeeSettings = useMaySeeSettings();
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
    tab('devices', <Fleet merchantId={merchantId} />),
    tab('contracts', <Contracts merchantId={merchantId} />),
    ...(maySeePeople ? [tab('people', <MerchantPeople merchantId={merchantId} />)] : []),
    ...(maySeeSettings
      ? [tab('settings', <ServiceSettings level="merchants" entityId={merchantId} />)]
      : []),
  ];
}

export default function MerchantPage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const merchantId = useParam('merchantId');
  const address = addresses.merchant(merchantId);
  const query = useVersioned<Merchant>(address);
  const mayWrite = useCan('prov.write');
  const isOfOrganization = useSession().merchantId === undefined;
  const tabs = useTabs(query.data?.body);
  const [open, onOpen] = useTab(tabs.map(({ name }) => name));
  const back = { to: '/merchants', label: t('kinds.merchant.many') };
  if (query.data === undefined) {
    return <PageInWait query={query} title={t('kinds.merchant.one')} backLink={back} />;
  }
  const { name, status } = query.data.body;
  return (
    <Page
      title={name}
      aside={<StatusBadge status={status} />}
      backLink={back}
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

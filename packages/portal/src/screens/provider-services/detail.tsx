/** The page of a provider's own service: declaration, customers, health and keys. */
import '../services/services.css';
import './provider-services.css';
import { Button, Menu, Tabs } from '@mantine/core';
import type { Service, ServiceRelease } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import type { Versioned } from '../../app/versioned-resources.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage, QueryContent } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import type { RowsPage } from '../../table/row-store.ts';
import { CodeList } from '../services/code-list.tsx';
import { NewKeysDialog, type ServiceKeys } from './new-keys-dialog.tsx';
import { ownServicesKey, serviceUrl, useOwnService } from './provider-service-queries.ts';
import { ServerHealth } from './server-health.tsx';
import { ServiceUses } from './service-uses.tsx';

const tabs = ['about', 'uses', 'health', 'keys'] as const;
const maxReleases = 20;

export default function OwnService() {
  const t = useTranslate('provider-services');
  const query = useOwnService(usePathParam('serviceId'));
  if (query.data !== undefined) return <Detail versioned={query.data} />;
  const backLink = { to: '/own-services', label: t('title') };
  return <PendingPage query={query} title={t('service')} backLink={backLink} />;
}

function Detail({ versioned }: { readonly versioned: Versioned<Service> }) {
  const t = useTranslate('provider-services');
  const { body: service } = versioned;
  const mayWrite = useHasPermission('svc.write');
  const [{ tab = 'about' }, change] = useFilters(['tab'] as const);
  const openTab = tabs.find((each) => each === tab) ?? 'about';
  return (
    <Page
      title={service.name}
      backLink={{ to: '/own-services', label: t('title') }}
      lead={service.domain}
      aside={
        <>
          <StateBadge state="" tone={service.status === 'Published' ? 'good' : 'plain'}>
            {t(`states.${service.status}`)}
          </StateBadge>
          {service.status === 'Published' && service.unpublishedChanges === true && (
            <StateBadge state="" tone="warn">
              {t('changed')}
            </StateBadge>
          )}
        </>
      }
      actions={mayWrite && <Actions versioned={versioned} />}
    >
      <Tabs
        value={openTab}
        onChange={(next) => change({ tab: next === null || next === 'about' ? '' : next })}
        keepMounted={false}
      >
        <Tabs.List>
          {tabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {t(`tabs.${each}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map((each) => {
          const Content = tabContents[each];
          return (
            <Tabs.Panel key={each} value={each} className="sy-own-tab">
              <Content service={service} />
            </Tabs.Panel>
          );
        })}
      </Tabs>
    </Page>
  );
}

const tabContents = { about: About, uses: ServiceUses, health: ServerHealth, keys: SigningKeys };

function Actions({ versioned }: { readonly versioned: Versioned<Service> }) {
  const t = useTranslate('provider-services');
  const { body: service } = versioned;
  const [step, setStep] = useState<LifecycleAction | undefined>(undefined);
  const steps = possibleActions(service);
  const others = steps.filter((each) => each !== 'publish');
  return (
    <>
      {service.status !== 'Retired' && (
        <Button
          component={Link}
          to={`/own-services/${service.serviceId}/edit`}
          variant="default"
          leftSection={<Icon name="edit" size={16} />}
        >
          {t('edit')}
        </Button>
      )}
      {steps.includes('publish') && (
        <Button onClick={() => setStep('publish')}>{t('publish.do')}</Button>
      )}
      {others.length > 0 && (
        <Menu>
          <Menu.Target>
            <Button variant="default" px="xs" aria-label={t('more')}>
              <Icon name="more" size={18} />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map((each) => (
              <Menu.Item key={each} onClick={() => setStep(each)}>
                {t(`${each}.do`)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {step !== undefined && (
        <LifecycleDialog action={step} versioned={versioned} onClose={() => setStep(undefined)} />
      )}
    </>
  );
}

function About({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const listed = (words: readonly string[]) =>
    words.length === 0 ? undefined : <CodeList words={words} />;
  return (
    <div className="sy-own-columns">
      <Panel title={t('declaration')}>
        <p className="sy-service-text-long sy-broken">
          {service.description ?? t('noDescription')}
        </p>
        <DescriptionList
          items={[
            [t('fields.domain'), service.domain],
            [t('fields.spiUrl'), service.spiUrl ?? t('noServer')],
            [t('fields.paymentTypes'), listed(service.paymentTypes)],
            [t('fields.methods'), listed(service.methods)],
            [t('fields.events'), listed(service.events)],
            timeItem(t('updated'), service.updatedAt),
            copyItem(t('identifier'), service.serviceId),
          ]}
        />
      </Panel>
      <Releases serviceId={service.serviceId} />
      <Schema title={t('fields.activationParameters')} value={service.activationParameters} />
      <Schema title={t('fields.parameterSchema')} value={service.parameterSchema} />
      <Schema title={t('fields.defaults')} value={service.defaults} />
    </div>
  );
}

function Schema({ title, value }: { readonly title: string; readonly value: object | undefined }) {
  if (value === undefined) return null;
  return (
    <Panel title={title}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <pre className="sy-code-block" tabIndex={0}>
        {JSON.stringify(value, null, 2)}
      </pre>
    </Panel>
  );
}

function Releases({ serviceId }: { readonly serviceId: string }) {
  const t = useTranslate('provider-services');
  const query = useQuery({
    queryKey: [...ownServicesKey, 'releases', serviceId],
    queryFn: ({ signal }) =>
      api.get<RowsPage<ServiceRelease>>(`${serviceUrl(serviceId)}/releases`, {
        query: { limit: maxReleases },
        signal,
      }),
  });
  return (
    <Panel title={t('releases')}>
      <QueryContent query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="book" title={t('neverPublished')} />
          ) : (
            <DescriptionList
              items={items.map(({ release, publishedAt }) =>
                timeItem(t('release', { release }), publishedAt),
              )}
            />
          )
        }
      </QueryContent>
    </Panel>
  );
}

function SigningKeys({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const mayRenew = useHasPermission('svc.write');
  const [isRenewing, setRenewing] = useState(false);
  const [keys, setKeys] = useState<ServiceKeys | undefined>(undefined);
  const renew = (
    <Button variant="default" size="compact-sm" onClick={() => setRenewing(true)}>
      {t('keys.renew')}
    </Button>
  );
  return (
    <Panel title={t('keys.title')} actions={mayRenew && renew}>
      <p className="sy-service-text-long">{t('keys.text')}</p>
      <DescriptionList
        items={[
          [t('keys.server'), service.spiUrl ?? t('noServer')],
          [t('keys.header'), 'webhook-signature'],
          [t('keys.schemes'), 'v1 (HMAC-SHA256), v1a (Ed25519)'],
        ]}
      />
      <ConfirmDialog
        isOpen={isRenewing}
        onClose={() => setRenewing(false)}
        title={t('keys.renewTitle')}
        confirm={t('keys.renew')}
        run={(idempotencyKey) =>
          api.post<ServiceKeys>(`${serviceUrl(service.serviceId)}/secret`, { idempotencyKey })
        }
        onDone={(made) => {
          setRenewing(false);
          setKeys(made);
        }}
      >
        <p className="sy-dialogue-text">{t('keys.renewText')}</p>
      </ConfirmDialog>
      {keys !== undefined && <NewKeysDialog keys={keys} onClose={() => setKeys(undefined)} />}
    </Panel>
  );
}

type LifecycleAction = 'publish' | 'retire' | 'remove';

/** The actions that the status of the service allows. */
function possibleActions({ status, unpublishedChanges }: Service): readonly LifecycleAction[] {
  if (status === 'Draft') return ['publish', 'remove'];
  if (status === 'Retired') return [];
  return unpublishedChanges === true ? ['publish', 'retire'] : ['retire'];
}

function LifecycleDialog({
  action,
  versioned: { body: service, etag },
  onClose,
}: {
  readonly action: LifecycleAction;
  readonly versioned: Versioned<Service>;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const navigate = useNavigate();
  const path = serviceUrl(service.serviceId);
  // Another user may have changed the service.
  const headers = { 'if-match': etag };
  return (
    <ActionDialog
      t={t}
      action={action}
      values={{ name: service.name }}
      isDangerous={action !== 'publish'}
      run={() =>
        action === 'remove'
          ? api.delete(path, { headers })
          : api.post(`${path}/${action}`, { headers })
      }
      onClose={onClose}
      onDone={() => {
        if (action === 'remove') void navigate({ to: '/own-services' });
        reloadData('own-services');
      }}
    />
  );
}

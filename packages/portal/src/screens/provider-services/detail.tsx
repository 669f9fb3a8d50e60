/** The page of a provider's own service: declaration, customers, health and keys. */
import { Button, Menu, Tabs } from '@mantine/core';
import type { Service, ServiceRelease } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import {
  DescriptionList,
  EmptyState,
  Loading,
  Page,
  Panel,
} from '../../components/layout/page.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import type { RowsPage } from '../../table/row-store.ts';
import { CodeList } from '../services/code-list.tsx';
import { type LifecycleAction, LifecycleDialog, possibleActions } from './lifecycle-dialog.tsx';
import {
  ownServicesKey,
  serviceUrl,
  useOwnService,
  type VersionedService,
} from './provider-service-queries.ts';
import { ServerHealth } from './server-health.tsx';
import { ServiceUses } from './service-uses.tsx';
import { SigningKeys } from './signing-keys.tsx';
import '../services/services.css';
import './provider-services.css';

const tabs = ['about', 'uses', 'health', 'keys'] as const;
const maxReleases = 20;

export default function OwnService() {
  const t = useTranslate('provider-services');
  const { data, error, refetch } = useOwnService(usePathParam('serviceId'));
  if (data !== undefined) return <Detail versioned={data} />;
  return (
    <Page title={t('service')} backLink={{ to: '/own-services', label: t('title') }}>
      {error === null ? (
        <Loading lines={8} />
      ) : (
        <ErrorMessage fault={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

function Detail({ versioned }: { readonly versioned: VersionedService }) {
  const t = useTranslate('provider-services');
  const { service } = versioned;
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
      {...(mayWrite ? { actions: <Actions versioned={versioned} /> } : {})}
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
        <Tabs.Panel value="about" className="sy-own-tab">
          <About service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="uses" className="sy-own-tab">
          <ServiceUses service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="health" className="sy-own-tab">
          <ServerHealth service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="keys" className="sy-own-tab">
          <SigningKeys service={service} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Actions({ versioned }: { readonly versioned: VersionedService }) {
  const t = useTranslate('provider-services');
  const { service } = versioned;
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
            [t('updated'), <DateTime key="updated" at={service.updatedAt} />],
            [
              t('identifier'),
              <CopyableText key="id" text={service.serviceId} label={t('identifier')} />,
            ],
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
  const { data, error, refetch } = useQuery({
    queryKey: [...ownServicesKey, 'releases', serviceId],
    queryFn: ({ signal }) =>
      api.get<RowsPage<ServiceRelease>>(`${serviceUrl(serviceId)}/releases`, {
        query: { limit: maxReleases },
        signal,
      }),
  });
  return (
    <Panel title={t('releases')}>
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={3} />}
      {data?.items.length === 0 && <EmptyState icon="book" title={t('neverPublished')} />}
      <DescriptionList
        items={(data?.items ?? []).map(({ release, publishedAt }) => [
          t('release', { release }),
          <DateTime key={release} at={publishedAt} />,
        ])}
      />
    </Panel>
  );
}

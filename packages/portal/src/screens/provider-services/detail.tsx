/** One service of one's own: as others see it, who uses it, how its server answers, and its keys. */
import { Button, Menu, Tabs } from '@mantine/core';
import type { Service, ServiceRelease } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { EmptyState, Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import type { Page as RowsPage } from '../../table/row-store.ts';
import { WordList } from '../services/code-list.tsx';
import { type Step, StepDialogue, stepsOf } from './lifecycle-dialog.tsx';
import { addressOf, ownKey, useOwnService, type Versioned } from './provider-service-queries.ts';
import { Watch } from './server-health.tsx';
import { Uses } from './service-uses.tsx';
import { SigningKeys } from './signing-keys.tsx';
import '../services/services.css';
import './provider-services.css';

const tabs = ['about', 'uses', 'health', 'keys'] as const;
const maxReleases = 20;

export default function OwnService() {
  const t = useTranslate('provider-services');
  const { data, error, refetch } = useOwnService(useParam('serviceId'));
  if (data !== undefined) return <Detail versioned={data} />;
  return (
    <Page title={t('service')} backLink={{ to: '/own-services', label: t('title') }}>
      {error === null ? (
        <Loading lines={8} />
      ) : (
        <Problem fault={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

function Detail({ versioned }: { readonly versioned: Versioned }) {
  const t = useTranslate('provider-services');
  const { service } = versioned;
  const mayWrite = useCan('svc.write');
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
          <Uses service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="health" className="sy-own-tab">
          <Watch service={service} />
        </Tabs.Panel>
        <Tabs.Panel value="keys" className="sy-own-tab">
          <SigningKeys service={service} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function Actions({ versioned }: { readonly versioned: Versioned }) {
  const t = useTranslate('provider-services');
  const { service } = versioned;
  const [step, setStep] = useState<Step | undefined>(undefined);
  const steps = stepsOf(service);
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
        <StepDialogue step={step} versioned={versioned} onClose={() => setStep(undefined)} />
      )}
    </>
  );
}

function About({ service }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const listed = (words: readonly string[]) =>
    words.length === 0 ? undefined : <WordList words={words} />;
  return (
    <div className="sy-own-columns">
      <Panel title={t('declaration')}>
        <p className="sy-service-text-long sy-broken">
          {service.description ?? t('noDescription')}
        </p>
        <Facts
          items={[
            [t('fields.domain'), service.domain],
            [t('fields.spiUrl'), service.spiUrl ?? t('noServer')],
            [t('fields.paymentTypes'), listed(service.paymentTypes)],
            [t('fields.methods'), listed(service.methods)],
            [t('fields.events'), listed(service.events)],
            [t('updated'), <Time key="updated" at={service.updatedAt} />],
            [
              t('identifier'),
              <CopyText key="id" text={service.serviceId} label={t('identifier')} />,
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
    queryKey: [...ownKey, 'releases', serviceId],
    queryFn: ({ signal }) =>
      api.get<RowsPage<ServiceRelease>>(`${addressOf(serviceId)}/releases`, {
        query: { limit: maxReleases },
        signal,
      }),
  });
  return (
    <Panel title={t('releases')}>
      {error !== null && <Problem fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={3} />}
      {data?.items.length === 0 && <EmptyState icon="book" title={t('neverPublished')} />}
      <Facts
        items={(data?.items ?? []).map(({ release, publishedAt }) => [
          t('release', { release }),
          <Time key={release} at={publishedAt} />,
        ])}
      />
    </Panel>
  );
}

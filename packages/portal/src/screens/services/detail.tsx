/** One service of the catalogue: what it is, whether it is subscribed, and where it is in use. */
import { Button } from '@mantine/core';
import type { Service, ServiceActivation } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useParam } from '../../app/url-params.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { EmptyState, Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import { ActivationList } from './activation-list.tsx';
import { WordList } from './code-list.tsx';
import { ServiceMark } from './service-logo.tsx';
import { useOffers, useOwnActivations, useOwnPlaces, useService } from './service-queries.ts';
import { serviceStatusForMerchant, serviceStatus, subscribedIn, toneOf } from './service-status.ts';
import { Subscribe } from './subscribe-dialog.tsx';
import './services.css';

const noOffers = { packages: [], subscriptions: [] };

export default function ServiceDetail() {
  const t = useTranslate('services');
  const serviceId = useParam('serviceId');
  const { data, error, refetch } = useService(serviceId);
  const back = { to: '/services', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('service')} backLink={back}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return <Detail service={data} />;
}

function Detail({ service }: { readonly service: Service }) {
  const t = useTranslate('services');
  const { entityType } = useSession();
  const isOrganization = entityType === 'tenant';
  const mayOffer = useCan('sub.write') && isOrganization;
  const { data: offers = noOffers, isPending } = useOffers();
  const activations = useOwnActivations().data?.items ?? [];
  const [isSubscribing, setSubscribing] = useState(false);
  const subscribed = subscribedIn(offers);
  const servicePlace = useOwnPlaces([service]).get(service.serviceId);
  const status = isOrganization
    ? serviceStatus(service, activations, subscribed)
    : serviceStatusForMerchant(servicePlace);
  const ownActivation = activations.find((each) => each.serviceId === service.serviceId);
  // Of a merchant's organisation nothing is known here: the platform refuses what cannot be.
  const isSubscribed = subscribed.has(service.serviceId) || !isOrganization;
  const maySubscribe = mayOffer && !isPending && !isSubscribed && service.status === 'Published';
  return (
    <Page
      title={service.name}
      backLink={{ to: '/services', label: t('title') }}
      aside={
        <StateBadge state="" tone={toneOf[status]}>
          {t(`standings.${status}`)}
        </StateBadge>
      }
      lead={[service.providerName, service.domain].filter(Boolean).join(' · ')}
      {...(maySubscribe
        ? { actions: <Button onClick={() => setSubscribing(true)}>{t('subscribe.do')}</Button> }
        : {})}
    >
      <div className="sy-service-columns">
        <div>
          {isSubscribed ? (
            <ActivationList service={service} maySwitch={service.status === 'Published'} />
          ) : (
            <Panel title={t('places.title')}>
              <EmptyState icon="services" title={t('notSubscribed.title')}>
                {t('notSubscribed.text')}
              </EmptyState>
            </Panel>
          )}
        </div>
        <div>
          <About service={service} isSubscribed={isSubscribed} />
          {ownActivation !== undefined && <Agreed activation={ownActivation} />}
        </div>
      </div>
      {isSubscribing && (
        <Subscribe service={service} offers={offers} onClose={() => setSubscribing(false)} />
      )}
    </Page>
  );
}

const configuration = '/configuration';

function About({
  service,
  isSubscribed,
}: {
  readonly service: Service;
  readonly isSubscribed: boolean;
}) {
  const t = useTranslate('services');
  const takesConfiguration = isSubscribed && service.parameterSchema !== undefined;
  const mayConfigure = useCan('conf.read') && takesConfiguration;
  const { entityType, organizationId, merchantId } = useSession();
  const level = entityType === 'tenant' ? 'organizations' : 'merchants';
  const search = { level, entityId: merchantId ?? organizationId, serviceId: service.serviceId };
  const configure = (
    <Button
      component={Link}
      to={configuration}
      search={search as never}
      variant="default"
      size="compact-sm"
    >
      {t('configure')}
    </Button>
  );
  const listed = (words: readonly string[]) =>
    words.length === 0 ? undefined : <WordList words={words} />;
  return (
    <Panel title={t('about')} {...(mayConfigure ? { actions: configure } : {})}>
      <div className="sy-service-lead">
        <ServiceMark service={service} size={48} />
        <p className="sy-service-text sy-broken">{service.description ?? t('noDescription')}</p>
      </div>
      <Facts
        items={[
          [t('provider'), service.providerName],
          [t('domain'), service.domain],
          [t('release'), service.release],
          [t('state'), t(`states.${service.status}`)],
          [t('paymentTypes'), listed(service.paymentTypes)],
          [t('methods'), listed(service.methods)],
          [t('updated'), <Time key="updated" at={service.updatedAt} />],
          [t('identifier'), <CopyText key="id" text={service.serviceId} label={t('identifier')} />],
        ]}
      />
    </Panel>
  );
}

/** What was asked with the activation of one's own level, and what the provider said. */
function Agreed({ activation }: { readonly activation: ServiceActivation }) {
  const t = useTranslate('services');
  const { parameters, providerParameters = {}, secrets = [] } = activation;
  const valueRows = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  return (
    <Panel title={t('agreed')}>
      <Facts
        items={[
          [t('state'), t(`places.status.${activation.status}`)],
          [t('reason'), activation.reason],
          [t('asked'), <Time key="asked" at={activation.requestedAt} />],
          [t('decided'), <Time key="decided" at={activation.decidedAt} />],
          ...valueRows(parameters),
          ...secrets.map((pointer): [string, string] => [pointer.slice(1), t('sealed')]),
          ...valueRows(providerParameters),
        ]}
      />
    </Panel>
  );
}

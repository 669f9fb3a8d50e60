/** The page of a catalogue service: description, subscription and activations. */
import { Button } from '@mantine/core';
import type { Service, ServiceActivation } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePathParam } from '../../app/url-params.ts';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { ActivationList } from './activation-list.tsx';
import { CodeList } from './code-list.tsx';
import { ServiceLogo } from './service-logo.tsx';
import {
  useMerchantServicePlaces,
  useOffers,
  useOwnActivations,
  useService,
} from './service-queries.ts';
import {
  serviceStatus,
  serviceStatusForMerchant,
  statusTones,
  subscribedServiceIds,
} from './service-status.ts';
import { SubscribeDialog } from './subscribe-dialog.tsx';
import './services.css';

const noOffers = { packages: [], subscriptions: [] };

export default function ServiceDetail() {
  const t = useTranslate('services');
  const serviceId = usePathParam('serviceId');
  const query = useService(serviceId);
  const { data } = query;
  const backLink = { to: '/services', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('service')} backLink={backLink} />;
  return <Detail service={data} />;
}

function Detail({ service }: { readonly service: Service }) {
  const t = useTranslate('services');
  const { entityType } = useSession();
  const isOrganization = entityType === 'tenant';
  const mayOffer = useHasPermission('sub.write') && isOrganization;
  const { data: offers = noOffers, isPending } = useOffers();
  const activations = useOwnActivations().data?.items ?? [];
  const [isSubscribing, setSubscribing] = useState(false);
  const subscribed = subscribedServiceIds(offers);
  const servicePlace = useMerchantServicePlaces([service]).get(service.serviceId);
  const status = isOrganization
    ? serviceStatus(service, activations, subscribed)
    : serviceStatusForMerchant(servicePlace);
  const ownActivation = activations.find((each) => each.serviceId === service.serviceId);
  // Users of a merchant cannot read subscriptions; the platform rejects invalid activations.
  const isSubscribed = subscribed.has(service.serviceId) || !isOrganization;
  const maySubscribe = mayOffer && !isPending && !isSubscribed && service.status === 'Published';
  return (
    <Page
      title={service.name}
      backLink={{ to: '/services', label: t('title') }}
      aside={
        <StateBadge state="" tone={statusTones[status]}>
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
          {ownActivation !== undefined && <ActivationPanel activation={ownActivation} />}
        </div>
      </div>
      {isSubscribing && (
        <SubscribeDialog service={service} offers={offers} onClose={() => setSubscribing(false)} />
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
  const mayConfigure = useHasPermission('conf.read') && takesConfiguration;
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
    words.length === 0 ? undefined : <CodeList words={words} />;
  return (
    <Panel title={t('about')} actions={mayConfigure && configure}>
      <div className="sy-service-lead">
        <ServiceLogo service={service} size={48} />
        <p className="sy-service-text sy-broken">{service.description ?? t('noDescription')}</p>
      </div>
      <DescriptionList
        items={[
          [t('provider'), service.providerName],
          [t('domain'), service.domain],
          [t('release'), service.release],
          [t('state'), t(`states.${service.status}`)],
          [t('paymentTypes'), listed(service.paymentTypes)],
          [t('methods'), listed(service.methods)],
          timeItem(t('updated'), service.updatedAt),
          copyItem(t('identifier'), service.serviceId),
        ]}
      />
    </Panel>
  );
}

/** The parameters of the activation at the user's own level, and the provider's response. */
function ActivationPanel({ activation }: { readonly activation: ServiceActivation }) {
  const t = useTranslate('services');
  const { parameters, providerParameters = {}, secrets = [] } = activation;
  const valueRows = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  return (
    <Panel title={t('agreed')}>
      <DescriptionList
        items={[
          [t('state'), t(`places.status.${activation.status}`)],
          [t('reason'), activation.reason],
          [t('asked'), <DateTime key="asked" at={activation.requestedAt} />],
          [t('decided'), <DateTime key="decided" at={activation.decidedAt} />],
          ...valueRows(parameters),
          ...secrets.map((pointer): [string, string] => [pointer.slice(1), t('sealed')]),
          ...valueRows(providerParameters),
        ]}
      />
    </Panel>
  );
}

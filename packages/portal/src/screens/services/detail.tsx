/** The page of a catalogue service: description, subscription and activations. */
import './services.css';
import { Button, Select } from '@mantine/core';
import type {
  Service,
  ServiceActivation,
  ServicePackage,
  Subscription,
} from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { ActivationList } from './activation-list.tsx';
import { CodeList } from './code-list.tsx';
import { ServiceLogo } from './service-logo.tsx';
import {
  catalogUrl,
  type PackageOffers,
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

const newPackage = 'own';

/** The packages that contain the service. */
function choicesOf({ packages }: PackageOffers, serviceId: string): ServicePackage[] {
  return packages.filter(
    ({ status, serviceIds }) => status === 'Enabled' && serviceIds.includes(serviceId),
  );
}

function SubscribeDialog({
  service,
  offers,
  onClose,
}: {
  readonly service: Service;
  readonly offers: PackageOffers;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const choices = choicesOf(offers, service.serviceId);
  const [chosen, setChosen] = useState(choices[0]?.packageId ?? newPackage);
  /** The package of an earlier attempt that failed after its creation. */
  const [made, setMade] = useState<string | undefined>(undefined);

  async function packageId(key: string): Promise<string> {
    if (chosen !== newPackage) return chosen;
    if (made !== undefined) return made;
    const body = { name: service.name, serviceIds: [service.serviceId] };
    const { packageId: id } = await api.post<ServicePackage>(`${catalogUrl}/packages`, {
      body,
      idempotencyKey: `${key}:package`,
    });
    setMade(id);
    return id;
  }

  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('subscribe.title', { service: service.name })}
      confirm={t('subscribe.do')}
      run={async (idempotencyKey) =>
        api.post<Subscription>(`${catalogUrl}/subscriptions`, {
          body: { packageId: await packageId(idempotencyKey) },
          idempotencyKey,
        })
      }
      onDone={() => {
        reloadData('services');
        showToast(t('subscribe.done'));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('subscribe.text')}</p>
      <Select
        label={t('subscribe.package')}
        allowDeselect={false}
        data={[
          ...choices.map(({ packageId: value, name }) => ({ value, label: name })),
          { value: newPackage, label: t('subscribe.own') },
        ]}
        value={chosen}
        onChange={(value) => setChosen(value ?? newPackage)}
      />
    </ConfirmDialog>
  );
}

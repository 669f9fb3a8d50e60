/** The list of packages and subscriptions. */
import './services.css';
import { Button, Menu, Table } from '@mantine/core';
import {
  defined,
  type Service,
  type ServicePackage,
  type Subscription,
} from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { FormInputs, useForm } from '../../components/forms/use-form.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { catalogUrl, useOffers, useServices } from './service-queries.ts';

type Doing =
  | { readonly verb: 'edit'; readonly servicePackage: ServicePackage | undefined }
  | {
      readonly verb: PackageAction;
      readonly servicePackage: ServicePackage;
      readonly subscription?: Subscription;
    };

export default function ServicePackages() {
  const t = useTranslate('services');
  const mayWrite = useHasPermission('sub.write');
  const offers = useOffers();
  const services = useServices({});
  const [doing, setDoing] = useState<Doing | undefined>(undefined);
  const close = () => setDoing(undefined);
  const add = (
    <Button
      leftSection={<Icon name="plus" size={16} />}
      onClick={() => setDoing({ verb: 'edit', servicePackage: undefined })}
    >
      {t('packages.add')}
    </Button>
  );
  const fault = offers.error ?? services.error;
  return (
    <Page
      title={t('packages.title')}
      lead={t('packages.lead')}
      backLink={{ to: '/services', label: t('title') }}
      actions={mayWrite && add}
    >
      {fault !== null && (
        <ErrorMessage
          fault={fault}
          onRetry={() => {
            void offers.refetch();
            void services.refetch();
          }}
        />
      )}
      {offers.isPending && fault === null && <Loading lines={6} />}
      {offers.data?.packages.length === 0 && (
        <EmptyState icon="services" title={t('packages.empty.title')}>
          {t('packages.empty.text')}
        </EmptyState>
      )}
      {(offers.data?.packages ?? []).map((each) => (
        <PackagePanel
          key={each.packageId}
          servicePackage={each}
          services={services.data?.items ?? []}
          subscription={offers.data?.subscriptions.find(
            ({ packageId }) => packageId === each.packageId,
          )}
          onDo={mayWrite ? setDoing : undefined}
        />
      ))}
      {doing?.verb === 'edit' && (
        <PackageForm
          servicePackage={doing.servicePackage}
          services={services.data?.items ?? []}
          onClose={close}
        />
      )}
      {doing !== undefined && doing.verb !== 'edit' && (
        <PackageActionDialog {...doing} onClose={close} />
      )}
    </Page>
  );
}

function PackagePanel({
  servicePackage,
  services,
  subscription,
  onDo,
}: {
  readonly servicePackage: ServicePackage;
  readonly services: readonly Service[];
  readonly subscription: Subscription | undefined;
  readonly onDo: ((doing: Doing) => void) | undefined;
}) {
  const t = useTranslate('services');
  const packageServices = servicePackage.serviceIds.map((id) =>
    services.find(({ serviceId }) => serviceId === id),
  );
  return (
    <Panel
      title={servicePackage.name}
      flush
      actions={
        <>
          {servicePackage.status === 'Disabled' && (
            <StateBadge state="Disabled">{t('packages.disabled')}</StateBadge>
          )}
          <StateBadge state="" tone={subscription === undefined ? 'plain' : 'good'}>
            {t(subscription === undefined ? 'packages.unsubscribed' : 'packages.subscribed')}
          </StateBadge>
          {onDo !== undefined && (
            <PackageMenu servicePackage={servicePackage} subscription={subscription} onDo={onDo} />
          )}
        </>
      }
    >
      <Table className="sy-package-services" layout="fixed">
        <Table.Tbody>
          {servicePackage.serviceIds.map((serviceId, at) => (
            <Table.Tr key={serviceId}>
              <Table.Td>
                <Link to={`/services/${serviceId}`}>
                  <TruncatedName>{packageServices[at]?.name ?? serviceId}</TruncatedName>
                </Link>
              </Table.Td>
              <Table.Td>
                <TruncatedName>{packageServices[at]?.domain}</TruncatedName>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

function PackageMenu({
  servicePackage,
  subscription,
  onDo,
}: {
  readonly servicePackage: ServicePackage;
  readonly subscription: Subscription | undefined;
  readonly onDo: (doing: Doing) => void;
}) {
  const t = useTranslate('services');
  const isOn = subscription !== undefined;
  const verbs: PackageAction[] = [
    ...(isOn
      ? (['end'] as const)
      : servicePackage.status === 'Enabled'
        ? (['subscribe'] as const)
        : []),
    servicePackage.status === 'Enabled' ? 'disable' : 'enable',
    ...(isOn ? [] : (['remove'] as const)),
  ];
  return (
    <Menu>
      <Menu.Target>
        <Button
          variant="default"
          size="compact-sm"
          rightSection={<Icon name="chevronDown" size={14} />}
        >
          {t('packages.actions')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onDo({ verb: 'edit', servicePackage })}>
          {t('packages.edit')}
        </Menu.Item>
        {verbs.map((verb) => (
          <Menu.Item
            key={verb}
            onClick={() => onDo({ verb, servicePackage, ...defined({ subscription }) })}
          >
            {t(`packages.${verb}.do`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

type PackageAction = 'subscribe' | 'end' | 'enable' | 'disable' | 'remove';

function PackageActionDialog({
  verb,
  servicePackage,
  subscription,
  onClose,
}: {
  readonly verb: PackageAction;
  readonly servicePackage: ServicePackage;
  readonly subscription?: Subscription;
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const { packageId, name } = servicePackage;
  const address = `${catalogUrl}/packages/${packageId}`;
  const put = (status: ServicePackage['status']) =>
    api.put(address, { body: { ...servicePackage, status } });
  const changes: Readonly<Record<PackageAction, (key: string) => Promise<unknown>>> = {
    subscribe: (idempotencyKey) =>
      api.post(`${catalogUrl}/subscriptions`, { body: { packageId }, idempotencyKey }),
    end: () => api.delete(`${catalogUrl}/subscriptions/${subscription?.subscriptionId}`),
    enable: () => put('Enabled'),
    disable: () => put('Disabled'),
    remove: () => api.delete(address),
  };
  return (
    <ActionDialog
      t={(key, values) => t(`packages.${key}`, values)}
      action={verb}
      values={{ name }}
      isDangerous={verb === 'end' || verb === 'remove'}
      run={changes[verb]}
      onClose={onClose}
      onDone={() => reloadData('services')}
    />
  );
}

const servicesMost = 50;

function PackageForm({
  servicePackage,
  services,
  onClose,
}: {
  /** If undefined, the form creates a package. */
  readonly servicePackage: ServicePackage | undefined;
  readonly services: readonly Service[];
  readonly onClose: () => void;
}) {
  const t = useTranslate('services');
  const choices = services.filter(
    ({ serviceId, status }) =>
      status === 'Published' || servicePackage?.serviceIds.includes(serviceId) === true,
  );
  const fields: readonly Field[] = [
    { name: 'name', kind: 'text', max: 100, isRequired: true },
    { name: 'description', kind: 'paragraph', max: 500 },
    {
      name: 'serviceIds',
      kind: 'choices',
      maxItems: servicesMost,
      options: choices.map(({ serviceId, name }) => ({ value: serviceId, label: name })),
      isRequired: true,
      isSearchable: true,
    },
  ];
  const form = useForm(() => fields, {
    before: servicePackage,
    unchanged: servicePackage && { status: servicePackage.status },
  });
  const { body } = form;
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t(servicePackage === undefined ? 'packages.add' : 'packages.editTitle')}
      confirm={t('packages.save')}
      run={(idempotencyKey) =>
        servicePackage === undefined
          ? api.post<ServicePackage>(`${catalogUrl}/packages`, { body, idempotencyKey })
          : api.put<ServicePackage>(`${catalogUrl}/packages/${servicePackage.packageId}`, { body })
      }
      onDone={() => {
        reloadData('services');
        showToast(t('packages.saved'));
        onClose();
      }}
    >
      <FormInputs form={form} t={(key) => t(`packages.${key}`)} />
    </ConfirmDialog>
  );
}

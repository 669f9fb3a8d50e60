/** The configuration screen: selects a level and a service. */
import './configuration.css';
import { SegmentedControl, Select } from '@mantine/core';
import type { ConfigurableService } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useEntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import {
  type ConfigurationScope,
  entityKindOfLevel,
  isLevel,
  type Level,
  levels,
  servicesApiUrl,
} from './configuration-levels.ts';
import { ServiceConfigurationView } from './service-configuration.tsx';

const names = ['level', 'entityId', 'serviceId'] as const;

/** The default scope is the user's own organisation or merchant. */
function useScope(): [
  ConfigurationScope,
  string | undefined,
  (change: Partial<Record<(typeof names)[number], string>>) => void,
] {
  const [values, change] = useFilters(names);
  const { organizationId, merchantId } = useSession();
  const { level, entityId, serviceId } = values;
  const ownScope: ConfigurationScope =
    merchantId === undefined
      ? { level: 'organizations', entityId: organizationId }
      : { level: 'merchants', entityId: merchantId };
  const isWhole = isLevel(level) && (entityId !== undefined || level === ownScope.level);
  const scope = isWhole ? { level, entityId: entityId ?? ownScope.entityId } : ownScope;
  return [scope, serviceId, change];
}

export default function Configuration() {
  const t = useTranslate('configuration');
  const [scope, serviceId, change] = useScope();
  return (
    <Page title={t('title')} lead={t('lead')}>
      <LevelChoice
        scope={scope}
        onChange={(next) => change({ level: next.level, entityId: next.entityId })}
      />
      {serviceId === undefined ? (
        <ServiceList key={`${scope.level} ${scope.entityId}`} scope={scope} />
      ) : (
        <ServiceConfigurationView
          key={`${scope.level} ${scope.entityId} ${serviceId}`}
          scope={scope}
          serviceId={serviceId}
          onLeave={() => change({ serviceId: '' })}
        />
      )}
    </Page>
  );
}

const servicesMost = 200;

function ServiceList({ scope }: { readonly scope: ConfigurationScope }) {
  const t = useTranslate('configuration');
  const { data, error, refetch } = useQuery({
    queryKey: ['configurable', scope.level, scope.entityId],
    queryFn: ({ signal }) =>
      api.get<{ items: ConfigurableService[] }>(servicesApiUrl(scope), {
        query: { limit: servicesMost },
        signal,
      }),
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={6} />;
  if (data.items.length === 0) {
    return (
      <EmptyState icon="configuration" title={t('none.title')}>
        {t('none.text')}
      </EmptyState>
    );
  }
  return (
    <Panel title={t('services')} flush>
      <ul className="sy-conf-services">
        {data.items.map((service) => (
          <ServiceLine key={service.serviceId} service={service} scope={scope} />
        ))}
      </ul>
    </Panel>
  );
}

function ServiceLine({
  service: { serviceId, name, domain, isSet, version, updatedAt },
  scope,
}: {
  readonly service: ConfigurableService;
  readonly scope: ConfigurationScope;
}) {
  const t = useTranslate('configuration');
  return (
    <li>
      <Link to="/configuration" search={{ ...scope, serviceId } as never}>
        <span className="sy-conf-service">
          <TruncatedName>{name}</TruncatedName>
          <small>{domain}</small>
        </span>
        <StateBadge state="" tone={isSet ? 'busy' : 'plain'}>
          {isSet ? t('setHere') : t('inherited')}
        </StateBadge>
        <span className="sy-conf-when">
          {version > 0 && t('versionNumber', { version })} <DateTime at={updatedAt} />
        </span>
      </Link>
    </li>
  );
}

function LevelChoice({
  scope,
  onChange,
}: {
  readonly scope: ConfigurationScope;
  readonly onChange: (scope: ConfigurationScope) => void;
}) {
  const t = useTranslate('configuration');
  const { organizationId, organizationName, merchantId } = useSession();
  // The level applies after the user has chosen an entity.
  const [chosen, setChosen] = useState<Level | undefined>(undefined);
  const level = chosen ?? scope.level;
  const offered = levels.filter((each) => merchantId === undefined || each !== 'organizations');
  return (
    <div className="sy-conf-place">
      <div className="sy-wide-choice">
        <SegmentedControl
          aria-label={t('level')}
          data={offered.map((value) => ({ value, label: t(`levels.${value}`) }))}
          value={level}
          onChange={(value) => {
            const next = value as Level;
            if (next === 'organizations') {
              setChosen(undefined);
              onChange({ level: next, entityId: organizationId });
            } else if (next === 'merchants' && merchantId !== undefined) {
              setChosen(undefined);
              onChange({ level: next, entityId: merchantId });
            } else setChosen(next);
          }}
        />
      </div>
      {level === 'organizations' ? (
        <strong className="sy-broken">{organizationName ?? t('levels.organizations')}</strong>
      ) : (
        <EntityChoice
          key={level}
          level={level}
          value={level === scope.level ? scope.entityId : null}
          onChange={(entityId) => {
            setChosen(undefined);
            onChange({ level, entityId });
          }}
        />
      )}
    </div>
  );
}

function EntityChoice({
  level,
  value,
  onChange,
}: {
  readonly level: Exclude<Level, 'organizations'>;
  readonly value: string | null;
  readonly onChange: (entityId: string) => void;
}) {
  const t = useTranslate('configuration');
  const kind = entityKindOfLevel[level] ?? 'merchants';
  const names = useEntityNames(kind).data;
  // The chosen entity may not be on the first page of names.
  const chosenName = useEntityName(kind, value);
  const options = new Map(names ?? []);
  if (value !== null && !options.has(value)) options.set(value, chosenName ?? value);
  return (
    <Select
      className="sy-conf-entity"
      aria-label={t(`levels.${level}`)}
      placeholder={t(`choose.${level}`)}
      searchable
      allowDeselect={false}
      data={[...options].map(([id, label]) => ({ value: id, label }))}
      value={value}
      onChange={(next) => {
        if (next !== null) onChange(next);
      }}
    />
  );
}

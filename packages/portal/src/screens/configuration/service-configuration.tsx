/** The configuration of one service at one level: effective values, own values and versions. */
import { Button, Tabs } from '@mantine/core';
import type { Service, ServiceConfiguration } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import type { JsonSchema } from '../../components/forms/schema-fields.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Loading } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import {
  type ConfigurationScope,
  entityKindOfLevel,
  levelByApiName,
} from './configuration-levels.ts';
import { EffectiveValues } from './effective-values.tsx';
import { pointerText } from './json-pointers.ts';
import { LevelValues } from './level-values.tsx';
import { type LoadedConfiguration, useConfiguration } from './use-configuration.ts';
import { ConfigurationVersions } from './versions.tsx';

const tabs = ['effective', 'own', 'versions'] as const;

export function ServiceConfigurationView({
  scope,
  serviceId,
  onLeave,
}: {
  readonly scope: ConfigurationScope;
  readonly serviceId: string;
  readonly onLeave: () => void;
}) {
  const t = useTranslate('configuration');
  const { data, error, refetch } = useConfiguration(scope, serviceId);
  const service = useQuery({
    queryKey: ['service', serviceId],
    queryFn: ({ signal }) =>
      api.get<Service>(`/service-catalog/v1/services/${encodeURIComponent(serviceId)}`, { signal }),
  });
  const backLink = (
    <Button
      variant="subtle"
      size="compact-sm"
      leftSection={<Icon name="chevronLeft" size={14} />}
      onClick={onLeave}
    >
      {t('allServices')}
    </Button>
  );
  if (data === undefined) {
    return (
      <>
        <div>{backLink}</div>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        )}
      </>
    );
  }
  const { configuration } = data;
  return (
    <>
      <div className="sy-conf-head">
        {backLink}
        <h2>{configuration.name}</h2>
      </div>
      {error !== null && <ErrorMessage fault={error} />}
      <LevelPath configuration={configuration} scope={scope} serviceId={serviceId} />
      <Faults configuration={configuration} />
      <Parts loaded={data} schema={service.data?.parameterSchema} onReload={() => void refetch()} />
    </>
  );
}

function Parts({
  loaded,
  schema,
  onReload,
}: {
  readonly loaded: LoadedConfiguration;
  readonly schema: JsonSchema | undefined;
  readonly onReload: () => void;
}) {
  const t = useTranslate('configuration');
  const mayWrite = useHasPermission('conf.write');
  const [{ tab = 'effective' }, change] = useFilters(['tab']);
  return (
    <Tabs
      value={tabs.some((each) => each === tab) ? tab : 'effective'}
      onChange={(next) => change({ tab: next === 'effective' ? '' : (next ?? '') })}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {tabs.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {t(`tabs.${each}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="effective">
        <EffectiveValues configuration={loaded.configuration} />
      </Tabs.Panel>
      <Tabs.Panel value="own">
        <LevelValues loaded={loaded} schema={schema} isEditable={mayWrite} onReload={onReload} />
      </Tabs.Panel>
      <Tabs.Panel value="versions">
        <ConfigurationVersions loaded={loaded} isEditable={mayWrite} />
      </Tabs.Panel>
    </Tabs>
  );
}

/** Shows missing values and stored values that are invalid; devices do not get them. */
function Faults({
  configuration: { missing, invalid },
}: {
  readonly configuration: ServiceConfiguration;
}) {
  const t = useTranslate('configuration');
  return (
    <>
      {missing.length > 0 && (
        <Note icon="alert" tone="warn">
          {t('missing', { names: missing.map(pointerText).join(', ') })}
        </Note>
      )}
      {invalid.length > 0 && (
        <Note icon="alert" tone="warn">
          {t('invalid')}
          <ul className="sy-conf-faults">
            {invalid.map(({ pointer, detail }) => (
              <li key={pointer + detail}>
                <code>{pointerText(pointer)}</code> {detail}
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  );
}

type Step = ServiceConfiguration['levels'][number];

function LevelPath({
  configuration: { levels, level, entityId },
  scope,
  serviceId,
}: {
  readonly configuration: ServiceConfiguration;
  readonly scope: ConfigurationScope;
  readonly serviceId: string;
}) {
  const t = useTranslate('configuration');
  const isListed = levels.some((each) => each.level === level && each.entityId === entityId);
  const steps: readonly Step[] = isListed
    ? levels
    : [...levels, { level, entityId, version: 0, isSet: false }];
  return (
    <ol className="sy-conf-ladder" aria-label={t('ladder')}>
      {steps.map((step) => (
        <li key={`${step.level} ${step.entityId}`} data-set={step.isSet}>
          <Icon name={step.isSet ? 'check' : 'chevronRight'} size={14} />
          <StepName step={step} serviceId={serviceId} isHere={step.entityId === scope.entityId} />
          <small>{t(step.isSet ? 'sets' : 'setsNothing')}</small>
        </li>
      ))}
    </ol>
  );
}

function StepName({
  step,
  serviceId,
  isHere,
}: {
  readonly step: Step;
  readonly serviceId: string;
  readonly isHere: boolean;
}) {
  const t = useTranslate('configuration');
  const level = levelByApiName(step.level);
  const kind = level === undefined ? undefined : entityKindOfLevel[level];
  const name = (
    <>
      <span>{t(`levelNames.${step.level}`)}</span>
      {kind !== undefined && <EntityName kind={kind} id={step.entityId} />}
    </>
  );
  if (isHere || level === undefined) return <strong className="sy-conf-step">{name}</strong>;
  return (
    <Link
      className="sy-conf-step"
      to="/configuration"
      search={{ level, entityId: step.entityId, serviceId } as never}
    >
      {name}
    </Link>
  );
}

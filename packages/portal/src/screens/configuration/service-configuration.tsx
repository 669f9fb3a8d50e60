/** The configuration of one service at one level: effective values, own values and versions. */
import { Button, Table, Tabs, TextInput } from '@mantine/core';
import type { Service, ServiceConfiguration } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import type { JsonSchema } from '../../components/forms/schema-fields.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import {
  type ConfigurationScope,
  entityKindOfLevel,
  levelByApiName,
} from './configuration-levels.ts';
import { pointerText, shortValue, valueAt } from './json-pointers.ts';
import { LevelValuesEditor } from './level-values-editor.tsx';
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
        <LevelValuesEditor
          loaded={loaded}
          schema={schema}
          isEditable={mayWrite}
          onReload={onReload}
        />
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

type Source = ServiceConfiguration['effective']['sources'][number];
type Line = Source & { readonly text: string; readonly isSecret: boolean };

/** More lines would block the page. */
const displayLimit = 500;

/** The nearest level comes first. */
const nearness: readonly Source['level'][] = [
  ...(['LogicalDevice', 'Store', 'Merchant'] as const),
  ...(['Organization', 'Service'] as const),
];

function linesOf({ effective: { values, sources, secrets } }: ServiceConfiguration): Line[] {
  const lines = [
    ...sources.map((source) => ({
      ...source,
      text: shortValue(valueAt(values, source.pointer)),
      isSecret: false,
    })),
    ...secrets.map((source) => ({ ...source, text: '', isSecret: true })),
  ];
  return lines.toSorted((a, b) => nearness.indexOf(a.level) - nearness.indexOf(b.level));
}

function EffectiveValues({ configuration }: { readonly configuration: ServiceConfiguration }) {
  const t = useTranslate('configuration');
  const [searchText, setWanted] = useState('');
  const lines = linesOf(configuration);
  const matching = lines.filter(({ pointer, text }) =>
    `${pointerText(pointer)} ${text}`.toLowerCase().includes(searchText.toLowerCase().trim()),
  );
  if (lines.length === 0) {
    return (
      <EmptyState icon="configuration" title={t('nothing.title')}>
        {t('nothing.text')}
      </EmptyState>
    );
  }
  const { entityId } = configuration;
  return (
    <Panel
      title={t('holds')}
      flush
      actions={
        <TextInput
          type="search"
          size="xs"
          aria-label={t('searchValues')}
          placeholder={t('searchValues')}
          leftSection={<Icon name="search" size={14} />}
          value={searchText}
          onChange={({ currentTarget }) => setWanted(currentTarget.value)}
        />
      }
    >
      <div className="sy-conf-values">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('member')}</Table.Th>
              <Table.Th>{t('value')}</Table.Th>
              <Table.Th>{t('from')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {matching.slice(0, displayLimit).map((line) => (
              <Table.Tr key={line.pointer}>
                <Table.Td className="sy-broken">{pointerText(line.pointer)}</Table.Td>
                <Table.Td className="sy-broken">
                  {line.isSecret ? <em>{t('secret')}</em> : <code>{line.text}</code>}
                </Table.Td>
                <Table.Td>
                  <From line={line} isHere={line.entityId === entityId} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {matching.length > displayLimit && (
        <p className="sy-conf-more">{t('more', { count: matching.length - displayLimit })}</p>
      )}
      {matching.length === 0 && <p className="sy-conf-more">{t('noValue')}</p>}
    </Panel>
  );
}

function From({ line, isHere }: { readonly line: Line; readonly isHere: boolean }) {
  const t = useTranslate('configuration');
  return (
    <StateBadge state="" tone={isHere ? 'busy' : 'plain'}>
      {isHere ? t('here') : t(`levelNames.${line.level}`)}
    </StateBadge>
  );
}

/** The configuration of one service at one level: effective values, own values and versions. */
import { Button, Tabs } from '@mantine/core';
import type { Service, ServiceConfiguration } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { JsonSchema } from '../../components/forms/schema-fields.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Loading } from '../../components/layout/page.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import type { ConfigurationScope } from './configuration-levels.ts';
import { EffectiveValues } from './effective-values.tsx';
import { pointerText } from './json-pointers.ts';
import { LevelPath } from './level-path.tsx';
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

/** The versions of the values of this level; a version can be restored. */
import { Button } from '@mantine/core';
import type { ConfigurationVersion } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import type { LoadedConfiguration } from './use-configuration.ts';

const pageMost = 50;

export function ConfigurationVersions({
  loaded: { address, etag },
  isEditable,
}: {
  readonly loaded: LoadedConfiguration;
  readonly isEditable: boolean;
}) {
  const t = useTranslate('configuration');
  const [restoreRequest, setRestoreRequest] = useState<number | undefined>(undefined);
  const { data, error, refetch } = useQuery({
    queryKey: ['configuration-versions', address],
    queryFn: ({ signal }) =>
      api.get<{ items: ConfigurationVersion[] }>(`${address}/versions`, {
        query: { limit: pageMost },
        signal,
      }),
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={5} />;
  if (data.items.length === 0) {
    return <EmptyState icon="clock" title={t('noVersions')} />;
  }
  return (
    <Panel title={t('tabs.versions')} flush>
      <ol className="sy-conf-versions" reversed>
        {data.items.map((each) => (
          <VersionLine
            key={each.version}
            configurationVersion={each}
            address={address}
            {...(isEditable && !each.isCurrent
              ? { onRestore: () => setRestoreRequest(each.version) }
              : {})}
          />
        ))}
      </ol>
      {restoreRequest !== undefined && (
        <ConfirmDialog
          isOpen
          onClose={() => setRestoreRequest(undefined)}
          title={t('restore.title', { version: restoreRequest })}
          confirm={t('restore.do')}
          run={() =>
            api.post(`${address}/versions/${restoreRequest}/restore`, {
              body: {},
              headers: { 'if-match': etag },
            })
          }
          onDone={() => {
            setRestoreRequest(undefined);
            showToast(t('restore.done'));
            reloadData('configuration', 'configurable', 'configuration-versions');
          }}
        >
          <p className="sy-dialogue-text">{t('restore.text')}</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function VersionLine({
  configurationVersion,
  address,
  onRestore,
}: {
  readonly configurationVersion: ConfigurationVersion;
  readonly address: string;
  readonly onRestore?: () => void;
}) {
  const t = useTranslate('configuration');
  const [isOpen, setOpen] = useState(false);
  const { version, isCurrent, isSet, restoredFrom, author, createdAt } = configurationVersion;
  return (
    <li>
      <div className="sy-conf-version">
        <strong>{t('versionNumber', { version })}</strong>
        {isCurrent && <StateBadge state="Active">{t('current')}</StateBadge>}
        <span>
          <DateTime at={createdAt} />
        </span>
        <span className="sy-broken">{author.subject}</span>
        {restoredFrom !== undefined && <span>{t('restoredFrom', { version: restoredFrom })}</span>}
        {!isSet && <span>{t('setsNothing')}</span>}
        <span className="sy-conf-version-actions">
          {isSet && (
            <Button
              variant="subtle"
              size="compact-sm"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              {t('look')}
            </Button>
          )}
          {onRestore !== undefined && isSet && (
            <Button variant="default" size="compact-sm" onClick={onRestore}>
              {t('restore.do')}
            </Button>
          )}
        </span>
      </div>
      {isOpen && <VersionValues address={address} version={version} />}
    </li>
  );
}

function VersionValues({
  address,
  version,
}: {
  readonly address: string;
  readonly version: number;
}) {
  const t = useTranslate('configuration');
  const { data, error } = useQuery({
    queryKey: ['configuration-version', address, version],
    queryFn: ({ signal }) =>
      api.get<ConfigurationVersion>(`${address}/versions/${version}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorMessage fault={error} />;
  if (data === undefined) return <Loading lines={3} />;
  return (
    <CodeBlock
      text={JSON.stringify(data.values ?? {}, undefined, 2)}
      label={t('versionNumber', { version })}
    />
  );
}

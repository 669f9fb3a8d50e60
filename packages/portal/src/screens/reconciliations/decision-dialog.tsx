/** The dialog for a decision on a difference. */
import { Radio, Textarea } from '@mantine/core';
import type { ReconciliationItem } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { discardLists } from '../../table/row-store-cache.ts';

export function DecisionDialog({
  id,
  item,
  onClose,
}: {
  readonly id: string;
  readonly item: ReconciliationItem;
  readonly onClose: () => void;
}) {
  const t = useTranslate('reconciliations');
  const client = useQueryClient();
  const [resolution, setResolution] = useState<string>(item.waysToResolve[0] ?? '');
  const [note, setNote] = useState('');
  const [fault, setFault] = useState<unknown>(undefined);
  const address = `/reporting/v1/reconciliations/${id}/items/${item.number}/resolve`;
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('decide.title')}
      confirm={t('decide.do')}
      inlineErrorFields={['note']}
      onFault={setFault}
      run={() =>
        api.post<ReconciliationItem>(address, {
          body: { resolution, ...(note.trim() === '' ? {} : { note: note.trim() }) },
        })
      }
      onDone={() => {
        onClose();
        showToast(t('decide.done'));
        discardLists('["reconciliation-items"');
        void client.invalidateQueries({ queryKey: ['reconciliation', id] });
      }}
    >
      <p className="sy-dialogue-text">{t(`explained.${item.outcome}`)}</p>
      <Radio.Group label={t('decision')} value={resolution} onChange={setResolution}>
        <div className="sy-ways">
          {item.waysToResolve.map((way) => (
            <Radio
              key={way}
              value={way}
              label={t(`resolutions.${way}`)}
              description={t(`ways.${way}`)}
            />
          ))}
        </div>
      </Radio.Group>
      <Textarea
        label={t('decide.note')}
        maxLength={500}
        autosize
        minRows={2}
        value={note}
        error={errorsByField(fault)['note']}
        onChange={({ currentTarget }) => setNote(currentTarget.value)}
      />
    </ConfirmDialog>
  );
}

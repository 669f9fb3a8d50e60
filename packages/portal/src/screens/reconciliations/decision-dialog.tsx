/** The dialog for a decision on a difference. */
import type { ReconciliationItem } from '@switchyard/contract';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { FormInputs, useForm } from '../../components/forms/form.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';

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
  const { number, outcome, waysToResolve } = item;
  const fields: readonly Field[] = [
    { name: 'resolution', kind: 'radio', options: waysToResolve, first: waysToResolve[0] ?? '' },
    { name: 'note', kind: 'paragraph', max: 500 },
  ];
  const form = useForm(() => fields);
  const path = `/reporting/v1/reconciliations/${id}/items/${number}/resolve`;
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t('decide.title')}
      confirm={t('decide.do')}
      run={() => api.post<ReconciliationItem>(path, { body: form.body })}
      onDone={() => {
        onClose();
        showToast(t('decide.done'));
        reloadData('reconciliation-items', 'reconciliation');
      }}
    >
      <p className="sy-dialogue-text">{t(`explained.${outcome}`)}</p>
      <FormInputs form={form} t={t} hasFocus={false} />
    </ConfirmDialog>
  );
}

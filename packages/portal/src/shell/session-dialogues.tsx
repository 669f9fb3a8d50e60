/** Warns before the session ends for want of work, and says so when it has ended. */
import { Button, Modal } from '@mantine/core';
import { signIn } from '../session/session.ts';
import { useSessionState } from '../session/watch-context.ts';
import { useWords } from '../words/index.ts';

const stay = { withCloseButton: false, closeOnEscape: false, closeOnClickOutside: false } as const;

export default function SessionDialogues() {
  const t = useWords('shell');
  const { state, secondsLeft, touch } = useSessionState();
  return (
    <>
      <Modal opened={state === 'idle'} onClose={touch} title={t('idle.title')} {...stay}>
        <p className="sy-dialogue-text">{t('idle.text', { count: secondsLeft })}</p>
        <div className="sy-confirm-buttons">
          <Button data-autofocus onClick={touch}>
            {t('idle.stay')}
          </Button>
        </div>
      </Modal>
      <Modal opened={state === 'ended'} onClose={() => signIn()} title={t('ended.title')} {...stay}>
        <p className="sy-dialogue-text">{t('ended.text')}</p>
        <div className="sy-confirm-buttons">
          <Button data-autofocus onClick={() => signIn()}>
            {t('ended.signIn')}
          </Button>
        </div>
      </Modal>
    </>
  );
}

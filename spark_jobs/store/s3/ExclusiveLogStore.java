package rebalance_audit;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import java.util.UUID;

import io.delta.storage.S3SingleDriverLogStore;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta commits on S3, each made by one conditional put: of writers in several processes, one makes a version.
 *
 * Delta's own store keeps writers apart in one process only. Set-up compiles this with the compiler that Spark brings
 * (Janino, which knows Java without lambdas).
 */
public class ExclusiveLogStore extends S3SingleDriverLogStore {
    /** Whose commit it is, in the object's metadata: a put that S3A repeats, as it had no answer, meets itself. */
    private static final String WRITER = "rebalance-audit-writer";
    /** In the text of the error where another put of the object is under way, whose end nobody knows yet. */
    private static final String BUSY = "Status Code: 409";
    private static final int ATTEMPTS = 20;
    private static final long PAUSE_MILLIS = 250;

    public ExclusiveLogStore(Configuration configuration) {
        super(configuration);
    }

    public void write(Path path, Iterator actions, Boolean overwrite, Configuration configuration)
            throws IOException {
        FileSystem store = path.getFileSystem(configuration);
        StringBuilder text = new StringBuilder();
        while (actions.hasNext()) {
            text.append((String) actions.next()).append('\n');
        }
        byte[] content = text.toString().getBytes(StandardCharsets.UTF_8);
        if (overwrite.booleanValue()) {
            writeTo(store.create(path, true), content);
        } else {
            create(store, path, content);
        }
    }

    private static void create(FileSystem store, Path path, byte[] content) throws IOException {
        if (store.exists(path)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        String writer = UUID.randomUUID().toString();
        for (int attempt = 1;; attempt++) {
            try {
                writeTo(newFile(store, path, writer), content);
                return;
            } catch (IOException error) {
                if (store.exists(path)) {
                    if (writer.equals(writerOf(store, path))) {
                        return;
                    }
                    throw new FileAlreadyExistsException(path.toString());
                }
                if (attempt == ATTEMPTS || !String.valueOf(error.getMessage()).contains(BUSY)) {
                    throw error;
                }
                pause();
            }
        }
    }

    private static FSDataOutputStream newFile(FileSystem store, Path path, String writer) throws IOException {
        FSDataOutputStreamBuilder builder = store.createFile(path);
        builder.create();
        builder.overwrite(false);
        builder.recursive();
        builder.must("fs.option.create.conditional.overwrite", true);
        builder.must("fs.s3a.create.header." + WRITER, writer);
        return (FSDataOutputStream) builder.build();
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(PAUSE_MILLIS);
        } catch (InterruptedException error) {
            throw new InterruptedIOException(error.getMessage());
        }
    }

    private static String writerOf(FileSystem store, Path path) throws IOException {
        byte[] found = (byte[]) store.getXAttrs(path).get("header." + WRITER);
        return found == null ? null : new String(found, StandardCharsets.UTF_8);
    }

    private static void writeTo(FSDataOutputStream stream, byte[] content) throws IOException {
        stream.write(content);
        stream.close();
    }
}

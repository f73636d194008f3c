@file:JvmName("Feeds")

package org.example.feed

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.map as mapFlow
import org.example.store.*
import java.util.UUID

/** How many posts a page has. */
const val PAGE_SIZE = 20
private val cache: MutableMap<UUID, Post> = mutableMapOf()
var lastError: Throwable? = null
    private set

typealias Listener = (Post) -> Unit

/**
 * One post.
 *
 * @property id unique in a feed
 */
@Serializable
data class Post(
    val id: UUID,
    var title: String = "untitled",
    internal val author: Author,
    hidden: Boolean = false,
) : Comparable<Post>, Identified {
    val isLong: Boolean
        get() = title.length > 80

    var views = 0
        set(value) {
            field = value.coerceAtLeast(0)
        }
    private val slug by lazy { title.lowercase() }
    lateinit var feed: Feed

    init {
        require(title.isNotBlank()) { "no title" }
    }

    /** Splits a line into a post. */
    constructor(line: String) : this(UUID.randomUUID(), line, Author.Unknown)

    override fun compareTo(other: Post): Int = id.compareTo(other.id)

    companion object Factory : PostFactory() {
        @JvmStatic
        fun of(title: String) = Post(UUID.randomUUID(), title, Author.Unknown)
    }

    inner class Draft(val text: String) {
        fun publish() = feed.add(this@Post)
    }
}

sealed interface Author {
    val name: String

    fun greet(other: Author): String

    data object Unknown : Author {
        override val name = "?"
        override fun greet(other: Author) = "hello"
    }

    @JvmInline
    value class Named(override val name: String) : Author {
        override fun greet(other: Author) = "hello, ${other.name}"
    }
}

enum class Order(val field: String) {
    /** Latest first. */
    NEWEST("date") {
        override fun sorted(posts: List<Post>) = posts.sortedByDescending { it.views }
    },
    TITLE("title");

    open fun sorted(posts: List<Post>): List<Post> = posts.sorted()

    companion object {
        val DEFAULT = NEWEST
    }
}

fun interface Filter {
    fun accepts(post: Post): Boolean
}

annotation class Tracked(val name: String)

abstract class Feed<out T : Post, K>(
    protected val store: Store<T>,
) : Iterable<T> by store, AutoCloseable where K : Any {
    abstract val order: Order

    /**
     * Loads one page.
     */
    @Tracked("page")
    suspend fun page(
        number: Int,
        filter: Filter? = null,
    ): List<T> {
        val posts = store.load(number * PAGE_SIZE, PAGE_SIZE)
        fun keep(post: T): Boolean = filter?.accepts(post) ?: true
        val clock = Clock(zone = "UTC")
        val handler = object : Listener, Runnable {
            val seen = 0
            override fun run() = println(seen)
        }
        handler.run()
        lastError = null
        return posts.filter(::keep).also { clock.tick() }
    }

    operator fun get(index: Int): T = store[index]

    override fun close() = Unit
}

object Feeds : Registry {
    private val feeds = mutableListOf<Feed<*, *>>()

    fun register(feed: Feed<*, *>) {
        feeds += feed
    }
}

/** Titles only. */
fun Flow<Post>.titles(): Flow<String> = mapFlow { it.title }

val Post.headline: String
    get() = "$title by ${author.name}"

infix fun <T : Comparable<T>> List<T>.isOrdered(order: Order): Boolean =
    zipWithNext().all { (a, b) -> a <= b }

internal expect fun now(): Long

fun main(args: Array<String>) {
    val post = Post.of("first")
    val (id, title) = post
    Feeds.register(MemoryFeed(store = Store()))
    if (post is Identified) println("$id $title ${post.headline}")
}
